// Sends a body with a status that allows none.
// answers: 204
// answers: 500 task_threw
// answers: 204 cut
module.exports = (context, req, res) => {
  res.statusCode = 204;
  res.end("HTTP/1.1 200 OK\r\nset-cookie: a=b\r\n\r\n");
};
