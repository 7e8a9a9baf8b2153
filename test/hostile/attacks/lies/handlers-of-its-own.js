// Catches every error of later runs itself, and swallows them.
// answers: 200 "listening"
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});
return "listening";
// then, in the same container
// answers: 500 task_threw of its own
setTimeout(() => {
  throw new Error("of its own");
}, 1);
await new Promise(() => {});
