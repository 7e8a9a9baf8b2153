// Gives a WASI program the root of the file system.
// answers: 500 task_threw
// answers: 200 []
const { WASI } = require("node:wasi");
const wasi = new WASI({ version: "preview1", preopens: { "/": "/", "/host": "/proc/1/root" } });
return Object.keys(wasi.wasiImport).filter((name) => name === "path_open_of_the_host");
