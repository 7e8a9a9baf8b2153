// Makes the harness write JSON without end.
// answers: 500 task_blocked
return { get endless() { for (;;); } };
