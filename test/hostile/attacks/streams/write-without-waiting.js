// Writes to its response without waiting for drain.
// answers: 200 cut
// answers: 500 task_memory
// answers: 500 task_blocked
module.exports = (context, req, res) => {
  for (;;) res.write(Buffer.alloc(1 << 16, 1));
};
