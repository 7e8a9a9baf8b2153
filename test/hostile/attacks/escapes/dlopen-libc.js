// Loads a system library as an addon.
// answers: 200 []
// after: attempts
const { constants } = require("node:os");
const open = (file) => process.dlopen({ exports: {} }, file, constants.dlopen.RTLD_NOW);
return through({
  libc: () => open("/lib/x86_64-linux-gnu/libc.so.6"),
  node: () => open("/bin/node"),
  nothing: () => open(""),
});
