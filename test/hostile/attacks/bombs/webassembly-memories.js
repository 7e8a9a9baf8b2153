// Reserves the address space of many WebAssembly memories, each of four gigabytes, until no more is left.
// answers: 500 task_threw
// answers: 500 task_memory
// answers: 500 task_blocked
const all = [];
for (let n = 0; n < 100_000; n++) all.push(new WebAssembly.Memory({ initial: 65_536, maximum: 65_536 }));
return all.length;
