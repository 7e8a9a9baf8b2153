// Throws a Proxy that throws whatever is asked of it.
// answers: 500 task_threw
const hijack = () => {
  throw hijack;
};
throw new Proxy({}, { get: hijack, getPrototypeOf: hijack, has: hijack, ownKeys: hijack });
