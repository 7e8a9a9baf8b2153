// Answers with a status that means that the answer has not begun.
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.statusCode = 100;
  res.end("go on");
};
