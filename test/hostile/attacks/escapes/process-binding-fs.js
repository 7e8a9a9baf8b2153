// Opens a file through the internal binding, past all checks of node:fs.
// answers: 500 task_threw
// leaves: nothing
const binding = process.binding("fs");
const descriptor = binding.open(CANARY_FILE, 0, 0o666);
return binding.readFileUtf8(descriptor, 0);
