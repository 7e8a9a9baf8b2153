// Loops in a context of its own, past a time limit of its own.
// answers: 500 task_blocked
require("node:vm").runInNewContext("for (;;) { try { for (;;); } catch {} }", {}, { timeout: 2 ** 31 - 1 });
