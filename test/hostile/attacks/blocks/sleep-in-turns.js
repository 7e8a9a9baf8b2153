// Repeats sleeps that are shorter than any measured time.
// answers: 500 task_blocked
const word = new Int32Array(new SharedArrayBuffer(4));
for (;;) Atomics.wait(word, 0, 0, 5);
