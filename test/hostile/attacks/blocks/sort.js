// Sorts with a comparison that never ends.
// answers: 500 task_blocked
return [3, 1, 2].sort(() => {
  for (;;);
});
