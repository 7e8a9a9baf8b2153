// Changes the guest's own program, and the Node that runs it.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
const main = "/guest/guest/main.js";
return through({
  write: () => fs.writeFileSync(main, "hijacked"),
  append: () => fs.appendFileSync(main, "hijacked"),
  open: () => fs.openSync(main, "r+"),
  truncate: () => fs.truncateSync(main),
  remove: () => fs.rmSync(main),
  rename: () => fs.renameSync("/guest/guest", "/tmp/guest"),
  mode: () => fs.chmodSync(main, 0o777),
  owner: () => fs.chownSync(main, 1_000, 1_000),
  times: () => fs.utimesSync(main, 0, 0),
  node: () => fs.writeFileSync("/bin/node", "hijacked"),
  folder: () => fs.mkdirSync("/guest/planted"),
  replace: () => (fs.writeFileSync("/tmp/main.js", ""), fs.renameSync("/tmp/main.js", main)),
});
