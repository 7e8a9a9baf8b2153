// Sends one header in many spellings, and many times.
// answers: 200 once
module.exports = (context, req, res) => {
  res.setHeader("Content-Type", ["text/plain", "text/html"]);
  res.setHeader("CONTENT-TYPE", "text/plain");
  res.setHeader("content-type ".trim(), "text/plain");
  res.end("once");
};
