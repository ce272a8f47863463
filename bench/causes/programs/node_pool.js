// A node server's file look-ups, one every 20 ms, done by libuv's pool of four threads.
//
// Stalled: four passwords are being hashed, with far too many rounds, when a look-up comes.
const crypto = require("node:crypto");
const fs = require("node:fs");

const stalled = process.argv[2] === "stalled";
let turn = 0;
const timer = setInterval(() => {
  turn += 1;
  if (turn === 60) {
    for (let i = 0; i < 4; i++) crypto.pbkdf2("secret", `salt ${i}`, stalled ? 250_000 : 100, 64, "sha512", () => {});
  }
  fs.stat(__filename, () => {});
  if (turn === 120) clearInterval(timer);
}, 20);
