// Calls back twice, with two answers.
// answers: 200 1
module.exports = (cb) => {
  cb(null, 1);
  cb(null, 2);
  setTimeout(cb, 1, new Error("three"));
};
