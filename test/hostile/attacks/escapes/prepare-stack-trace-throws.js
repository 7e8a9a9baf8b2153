// Makes every look at a stack throw, in the harness too.
// answers: 500 task_threw
Error.prepareStackTrace = () => {
  throw new Error("again");
};
throw new Error("once");
