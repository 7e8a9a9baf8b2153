// Calls back with errors that are none.
// answers: 400 task_error
module.exports = (cb) => cb(Object.create(null, { toString: { value: () => { throw new Error("no words"); } } }));
