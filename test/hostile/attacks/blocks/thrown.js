// Throws what cannot be looked at in time.
// answers: 500 task_blocked
throw { get message() { for (;;); } };
