// Sleeps without end on a word of memory.
// answers: 500 task_blocked
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
