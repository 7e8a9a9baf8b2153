// Replaces then, catch and finally, through which every answer passes.
// answers: 200 "replaced"
Promise.prototype.then = Promise.prototype.catch = Promise.prototype.finally = function () {
  return this;
};
return "replaced";
