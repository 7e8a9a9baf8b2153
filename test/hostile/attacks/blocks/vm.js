// Loops in a separate context, past the context's own time limit.
// answers: 500 task_blocked
require("node:vm").runInNewContext("for (;;) { try { for (;;); } catch {} }", {}, { timeout: 2 ** 31 - 1 });
