// Answers with bytes that are detached before they are sent.
// answers: 200
// answers: 500 task_threw
const bytes = new Uint8Array(1 << 20).fill(65);
structuredClone(bytes, { transfer: [bytes.buffer] });
return bytes;
