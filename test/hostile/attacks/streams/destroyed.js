// Destroys its response in the middle, with an error.
// answers: 200 cut
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.write("half");
  res.destroy(new Error("mine"));
};
