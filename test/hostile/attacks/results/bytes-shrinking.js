// Answers with a stream of bytes that shrink while they are sent.
// answers: 200
// answers: 200 cut
// answers: 500 task_threw
const buffer = new ArrayBuffer(4 << 20, { maxByteLength: 8 << 20 });
setTimeout(() => buffer.resize(0), 1);
return new ReadableStream({
  start(controller) {
    controller.enqueue(new Uint8Array(buffer));
    setTimeout(() => controller.close(), 20);
  },
});
