import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, percent, place, seconds, short, signed } from "../src/words.ts";

test("quantities read as in the terminal", () => {
  assert.deepEqual([0, 2.5e-9, 1.234e-4, 0.9442, 2.214, 123.4].map(seconds), [
    "0 s",
    "2.50 ns",
    "123 µs",
    "944 ms",
    "2.21 s",
    "123 s",
  ]);
  assert.deepEqual([0, 0.004, 0.126, 1].map(percent), ["0%", "0.4%", "13%", "100%"]);
  assert.deepEqual([3, 1234567, 74.5].map(count), ["3", "1,234,567", "74.5"]);
  assert.deepEqual([-0.5, 0.001].map(signed), ["−500 ms", "+1.00 ms"]);
  assert.deepEqual([999, 49_400_000, 3e10].map(bytes), ["999 B", "49.4 MB", "30.0 GB"]);
  assert.deepEqual([0, 1500, 92_160, 2e6, 3e9, 1e-5].map(short), ["0", "1,500", "92.2k", "2M", "3G", "1e-5"]);
  assert.deepEqual([place("/src/a.c", 4), place("a.c", 0)], ["a.c:4", "a.c"]);
});
