// Leaves files for the next container, where that container looks for its own.
// answers: 200 true
const fs = require("node:fs");
fs.writeFileSync("/tmp/task.js", "module.exports = 'left'");
fs.mkdirSync("/tmp/node_modules/left", { recursive: true });
fs.writeFileSync("/tmp/node_modules/left/index.js", "module.exports = 'left'");
return fs.existsSync("/tmp/node_modules/left");
// then, in another container
// answers: 200 []
return require("node:fs").readdirSync("/tmp");
