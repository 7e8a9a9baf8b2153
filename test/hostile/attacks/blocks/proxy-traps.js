// Returns a Proxy with endless traps.
// answers: 500 task_blocked
const loop = () => {
  for (;;);
};
return new Proxy({}, { get: loop, has: loop, ownKeys: loop, getPrototypeOf: loop });
