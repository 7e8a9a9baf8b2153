// Has the harness ask for JSON that never comes.
// answers: 500 task_blocked
return { toJSON() { for (;;); } };
