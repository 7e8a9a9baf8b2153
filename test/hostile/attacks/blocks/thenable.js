// Is awaited through a then that never comes back.
// answers: 500 task_blocked
return { then() { for (;;); } };
