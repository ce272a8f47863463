import regex

pattern = regex.compile(r"(?b)(?:hello world){s<=4}")
for _ in range(60000):
    pattern.search("say hallo wurld or hellu worle again")
