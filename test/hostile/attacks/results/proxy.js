// Returns a Proxy all of whose traps throw.
// answers: 500 task_threw
const hijack = () => {
  throw new Error("trapped");
};
return new Proxy({}, new Proxy({}, { get: () => hijack }));
