// Streams single bytes as fast as the service reads them.
// lasts: for ever
// answers: 200 cut
// answers: 500 task_timeout
return new ReadableStream({
  async pull(controller) {
    for (let n = 0; n < 100; n++) controller.enqueue("x");
    await new Promise(setImmediate);
  },
});
