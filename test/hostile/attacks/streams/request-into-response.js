// Pipes its request into its response, and back.
// answers: 200
// answers: 200 cut
// answers: 500 task_threw
module.exports = (context, req, res) => {
  req.pipe(res);
  req.unshift?.("again");
};
