// Claims a chunked, compressed body on an upgraded connection, and sends none of these.
// answers: 200
module.exports = (context, req, res) => {
  for (const [name, value] of [["transfer-encoding", "chunked, identity"], ["connection", "upgrade"], ["upgrade", "h2c"], ["trailer", "set-cookie"], ["te", "trailers"], ["keep-alive", "timeout=1000"]]) {
    res.setHeader(name, value);
  }
  res.end("0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
};
