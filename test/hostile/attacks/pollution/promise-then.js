// Replaces then, catch and finally, which hand over every answer.
// answers: 200 "replaced"
Promise.prototype.then = Promise.prototype.catch = Promise.prototype.finally = function () {
  return this;
};
return "replaced";
