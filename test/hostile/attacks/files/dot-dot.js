// Leaves the root by every spelling of a path that Node accepts.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
const up = "../".repeat(40);
return through({
  text: () => fs.readFileSync(`/tmp/${up}${CANARY_FILE}`),
  bytes: () => fs.readFileSync(Buffer.from(`/tmp/${up}${CANARY_FILE}`)),
  url: () => fs.readFileSync(new URL(`file:///tmp/%2e%2e/%2e%2e${CANARY_FILE}`)),
  slashes: () => fs.readFileSync(`//proc//1//root${CANARY_FILE}`),
  zero: () => fs.readFileSync(`${CANARY_FILE}\0.txt`),
  handle: () => require("node:fs/promises").open(CANARY_FILE),
  stream: () => new Promise((end, fail) => fs.createReadStream(CANARY_FILE).on("data", end).on("error", fail)),
  cwd: () => (process.chdir("/"), fs.readFileSync(`.${CANARY_FILE}`)),
});
