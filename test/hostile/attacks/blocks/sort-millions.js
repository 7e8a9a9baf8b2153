// Sorts too many elements, with an inconsistent comparison.
// answers: 500 task_blocked
// answers: 500 task_memory
return Array.from({ length: 3_000_000 }, (_, n) => n).sort(() => Math.random() - 0.5).length;
