// Answers that it has not begun to answer.
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.statusCode = 100;
  res.end("go on");
};
