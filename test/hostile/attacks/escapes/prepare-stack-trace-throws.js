// Makes every access to a stack throw, also in the harness.
// answers: 500 task_threw
Error.prepareStackTrace = () => {
  throw new Error("again");
};
throw new Error("once");
