// Removes the handlers of uncaught errors, and installs one that ignores them.
// answers: 500 task_threw
// answers: 500 task_exited
process.removeAllListeners();
process.setUncaughtExceptionCaptureCallback(null);
process.setUncaughtExceptionCaptureCallback(() => {});
setTimeout(() => {
  throw new Error("to nobody");
}, 1);
Promise.reject(new Error("to nobody"));
await new Promise((_, reject) => setTimeout(reject, 50, new Error("in the end")));
