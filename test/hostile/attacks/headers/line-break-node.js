// Splits the response by a line break in a header that a Node handler sets.
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.setHeader("x-a", ["1", "2\r\n\r\n<script>"]);
  res.end("split");
};
