// Returns a Proxy of a function, which reports a thousand parameters, and then another number.
// answers: 400 code_shape
// answers: 500 task_threw
let parameters = 1_000;
module.exports = new Proxy(function () {}, { get: (target, key) => (key === "length" ? parameters-- : target[key]) });
