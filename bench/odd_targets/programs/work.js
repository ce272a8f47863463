// Worker threads, timers, a child process, garbage.
const { Worker, isMainThread, parentPort } = require("worker_threads");
const { execFileSync } = require("child_process");

function work(n) {
  let text = 0;
  for (let i = 0; i < n; i++) text += `x${i}`.length;
  return text;
}

if (!isMainThread) {
  parentPort.postMessage(work(300000));
} else {
  let answers = [];
  for (let i = 0; i < 3; i++) {
    new Worker(__filename).on("message", (sum) => {
      answers.push(sum);
      if (answers.length === 3) {
        console.log(answers.join(" "), execFileSync("/bin/echo", ["child"]).toString().trim());
        console.error("to stderr");
        process.exitCode = 23;
      }
    });
  }
  work(300000);
}
