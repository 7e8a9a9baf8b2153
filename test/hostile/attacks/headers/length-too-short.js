// Announces fewer bytes than it sends, so that the rest seems to be the next answer.
// answers: 200 /^longHTTP/
module.exports = (context, req, res) => {
  res.setHeader("content-length", "4");
  res.end("longHTTP/1.1 200 OK\r\nset-cookie: a=b\r\n\r\n");
};
