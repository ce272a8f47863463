import io

from ijson.backends import yajl2_c

text = b'{"first": {' + b", ".join(b'"a member of some length %d": [%d]' % (n, n) for n in range(500)) + b"}}"
for _ in range(2000):
    for _ in yajl2_c.parse(io.BytesIO(text)):
        pass
