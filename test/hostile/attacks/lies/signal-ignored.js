// Receives an abort and continues, with a listener that throws.
// lasts: for ever
// answers: 500 task_timeout
module.exports = (context) =>
  new Promise(() => {
    context.signal.addEventListener("abort", () => {
      throw new Error("never");
    });
    context.signal.throwIfAborted = () => {};
    setInterval(() => {}, 10);
  });
