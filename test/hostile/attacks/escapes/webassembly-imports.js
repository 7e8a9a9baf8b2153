// Calls Function from WebAssembly, which a check of the source does not show.
// answers: 500 task_threw ENOENT
// leaves: nothing
const bytes = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 109, 1, 102, 0, 0, 8, 1, 0,
);
const read = () => require("node:fs").readFileSync(CANARY_FILE);
new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { f: read } });
return "read";
