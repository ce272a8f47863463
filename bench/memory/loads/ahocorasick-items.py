import ahocorasick

words = ahocorasick.Automaton()
for number in range(20000):
    words.add_word(f"word{number}", number)
for _ in range(60):
    for _ in words.values():
        pass
