import contextlib

import rapidjson

text = "[" + ", ".join(f'"{number:050}"' for number in range(50)) + ", oops]"
for _ in range(10000):
    with contextlib.suppress(ValueError):
        rapidjson.loads(text)
