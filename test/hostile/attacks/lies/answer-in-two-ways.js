// Returns a promise and calls back, with different results.
// answers: 200 1
// answers: 200 2
module.exports = (context, cb) => {
  setImmediate(cb, null, 1);
  return new Promise((resolve) => setImmediate(resolve, 2));
};
