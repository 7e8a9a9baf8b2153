// Writes half of a response, and never the rest.
// lasts: for ever
// answers: 200 cut
module.exports = (context, req, res) => {
  res.write("half");
};
