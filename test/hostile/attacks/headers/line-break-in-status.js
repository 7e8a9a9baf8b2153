// Splits the response by a line break in the status line.
// answers: 200 split
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.statusMessage = "OK\r\nSet-Cookie: a=b";
  res.writeHead(200, "OK\r\nSet-Cookie: a=b");
  res.end("split");
};
