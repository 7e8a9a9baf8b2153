// Rejects with a function that has the members of an error, all as getters.
// answers: 500 task_threw
// answers: 404 task_threw
return Promise.reject(Object.defineProperties(() => {}, {
  name: { get: () => ({ length: 3 }) },
  message: { get: () => 1n },
  stack: { get: () => Symbol("stack") },
  status: { get: () => 404 },
}));
