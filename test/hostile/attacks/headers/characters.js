// Sends characters that a header cannot hold.
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.setHeader("x-a", "\u010a\u010d\0");
  res.end();
};
