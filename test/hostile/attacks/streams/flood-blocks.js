// Writes to its stream without end, and blocks its event loop.
// answers: 200 cut
// answers: 500 task_memory
// answers: 500 task_blocked
return new ReadableStream({
  start(controller) {
    for (;;) controller.enqueue(new Uint8Array(1 << 16));
  },
});
