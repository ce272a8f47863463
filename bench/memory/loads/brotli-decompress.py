import brotli

packer = brotli.Compressor(quality=1)
packed = b""
for part in range(80):
    lines = (b"a line of a log with its number, %d, and its square, %d\n" % (n, n * n) for n in range(8000))
    packed += packer.process(b"part %d\n" % part + b"".join(lines))
packed += packer.finish()
for _ in range(4):
    if not brotli.decompress(packed).endswith(b"\n"):
        raise SystemExit("not what was packed")
