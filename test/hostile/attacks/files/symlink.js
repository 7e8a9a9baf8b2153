// Opens files of the host through symbolic links.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
const read = (name, target) => () => {
  fs.symlinkSync(target, `/tmp/${name}`);
  return fs.readFileSync(`/tmp/${name}`);
};
return through({
  absolute: read("a", CANARY_FILE),
  relative: read("b", `../../../../..${CANARY_FILE}`),
  process: read("c", `/proc/1/root${CANARY_FILE}`),
  self: read("d", "/proc/self/environ"),
});
