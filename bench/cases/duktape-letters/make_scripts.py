"""Two scripts that read translations of a text side by side, letter by letter: four of them, or five."""

import sys
from pathlib import Path

LETTERS, LETTERS_READ = 3000, 1_200_000

SCRIPT = """
var texts = [], sum = 0;
for (var number = 0; number < {texts}; number++) {{
    var letters = [];
    for (var i = 0; i < {letters}; i++)
        letters.push(String.fromCharCode(i % 5 ? 97 + (i * 7 + number) % 26 : 224 + (i + number) % 30));
    texts.push(letters.join(''));
}}
for (var time = 0; time < {times}; time++)
    for (var at = 0; at < {letters}; at++)
        for (var number = 0; number < {texts}; number++)
            sum = (sum * 31 + texts[number].charCodeAt(at)) % 1000003;
print(sum);
"""


def main() -> None:
    for name, texts in (("four", 4), ("five", 5)):
        script = SCRIPT.format(texts=texts, letters=LETTERS, times=LETTERS_READ // LETTERS // texts)
        Path(sys.argv[1], f"{name}.js").write_text(script)


if __name__ == "__main__":
    main()
