// Calls back with errors that are not errors.
// answers: 400 task_error
module.exports = (cb) => cb(Object.create(null, { toString: { value: () => { throw new Error("no words"); } } }));
