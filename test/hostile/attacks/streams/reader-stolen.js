// Answers with a stream whose reader returns false chunks.
// answers: 200 cut
// answers: 500 task_threw
const stream = new ReadableStream({ start: (controller) => controller.enqueue("x") });
stream.getReader = () => ({ read: async () => ({ done: false, value: Symbol("piece") }), cancel: () => { throw new Error("cancelled"); } });
return stream;
