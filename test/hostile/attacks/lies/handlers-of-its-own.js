// Installs its own error handlers, which swallow every error of later runs.
// answers: 200 "listening"
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});
return "listening";
// then, in the same container
// answers: 500 task_threw thrown by the next run
setTimeout(() => {
  throw new Error("thrown by the next run");
}, 1);
await new Promise(() => {});
