// Destroys its response in the middle, and says nothing of why.
// answers: 200 cut
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.write("half");
  setImmediate(() => res.destroy());
};
