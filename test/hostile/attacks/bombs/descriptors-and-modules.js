// Uses up all descriptors, so that no later run can load a module.
// answers: 200 "none left"
// answers: 500 task_threw EMFILE
const fs = require("node:fs");
globalThis.kept = [];
try {
  for (;;) kept.push(fs.openSync("/tmp/one", "a"));
} catch {}
return "none left";
// then, in the same container
// answers: 200 "stripped"
// as: application/typescript
const what: string = "stripped"; return what
