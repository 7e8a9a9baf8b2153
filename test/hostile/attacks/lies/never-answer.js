// Never answers.
// lasts: for ever
// answers: 500 task_stalled
// answers: 500 task_timeout
module.exports = (cb) => {};
