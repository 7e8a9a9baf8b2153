// Opens a file through the internal binding, beside everything that node:fs may check.
// answers: 500 task_threw
const binding = process.binding("fs");
const descriptor = binding.open(CANARY_FILE, 0, 0o666);
return binding.readFileUtf8(descriptor, 0);
