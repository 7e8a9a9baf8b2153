// Destroys its response in the middle, without an error.
// answers: 200 cut
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.write("half");
  setImmediate(() => res.destroy());
};
