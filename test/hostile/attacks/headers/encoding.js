// Says that its body comes in chunks, compressed, and on an upgraded connection, none of which it does.
// answers: 200
module.exports = (context, req, res) => {
  for (const [name, value] of [["transfer-encoding", "chunked, identity"], ["connection", "upgrade"], ["upgrade", "h2c"], ["trailer", "set-cookie"], ["te", "trailers"], ["keep-alive", "timeout=1000"]]) {
    res.setHeader(name, value);
  }
  res.end("0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
};
