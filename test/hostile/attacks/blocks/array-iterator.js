// Creates an array of 2^31 elements, with a callback that never returns.
// answers: 500 task_blocked
return Array.from({ length: 2 ** 31 }, () => {
  for (;;);
}).length;
