// Has the harness write JSON for ever.
// answers: 500 task_blocked
return { get endless() { for (;;); } };
