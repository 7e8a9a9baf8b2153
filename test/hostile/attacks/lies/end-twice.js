// Ends its response twice, and continues to write to it.
// answers: 200 first
// answers: 200 firstsecond
module.exports = (context, req, res) => {
  res.on("error", () => {});
  res.write("first");
  res.end();
  res.end("second");
  res.write("third");
  setTimeout(() => res.end("fourth"), 1);
};
