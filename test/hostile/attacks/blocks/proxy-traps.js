// Is caught in its own traps whenever anybody looks at it.
// answers: 500 task_blocked
const loop = () => {
  for (;;);
};
return new Proxy({}, { get: loop, has: loop, ownKeys: loop, getPrototypeOf: loop });
