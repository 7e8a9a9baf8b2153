// Throws a Proxy that throws at every access.
// answers: 500 task_threw
const hijack = () => {
  throw hijack;
};
throw new Proxy({}, { get: hijack, getPrototypeOf: hijack, has: hijack, ownKeys: hijack });
