// Sends a body with a status after which a client expects the next response.
// answers: 304
// answers: 500 task_threw
// answers: 304 cut
module.exports = (context, req, res) => {
  res.statusCode = 304;
  res.end("HTTP/1.1 200 OK\r\nset-cookie: a=b\r\n\r\n");
};
