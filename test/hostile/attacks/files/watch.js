// Watches the file system for changes by other processes.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
return through({
  watch: () => new Promise((end, fail) => fs.watch("/", end).on("error", fail)),
  host: () => new Promise((end, fail) => fs.watch(CANARY_FOLDER, end).on("error", fail)),
});
