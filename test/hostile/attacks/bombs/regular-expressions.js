// Compiles regular expressions that grow without limit.
// answers: 500 task_threw
// answers: 500 task_memory
// answers: 500 task_blocked
const { length } = new RegExp(`(?:${"(?:a{1,1000}){1,1000}".repeat(50)})`).exec("a".repeat(100)) ?? [];
return new RegExp("(".repeat(100_000) + ")".repeat(100_000)).test("x") && length;
