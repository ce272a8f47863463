from multidict import MultiDict

held = MultiDict(a="1")
for turn in range(300):
    held.items() - [(f"key {turn} {number:060}", f"value {turn} {number:060}") for number in range(1000)]
