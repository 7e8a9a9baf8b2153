// Throws a value whose inspection never ends.
// answers: 500 task_blocked
throw { get message() { for (;;); } };
