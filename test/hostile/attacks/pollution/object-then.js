// Makes every object a promise that never settles.
// lasts: for ever
// answers: 500 task_stalled
// answers: 500 task_timeout
// answers: 200 "then"
Object.prototype.then = function () {};
return "then";
