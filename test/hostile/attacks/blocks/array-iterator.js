// Makes an array of what never ends, from what looks like a small object.
// answers: 500 task_blocked
return Array.from({ length: 2 ** 31 }, () => {
  for (;;);
}).length;
