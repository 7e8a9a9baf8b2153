// Makes Node read a file of the host as a source map, and quote it in a stack.
// answers: 500 task_threw mapped
process.setSourceMapsEnabled(true);
const text = `throw new Error("mapped")\n//# sourceMappingURL=file://${CANARY_FILE}`;
require("node:vm").runInThisContext(text, { filename: CANARY_FILE });
