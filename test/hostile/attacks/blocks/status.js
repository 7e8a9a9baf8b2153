// Throws an error whose status getter never returns.
// answers: 500 task_blocked
throw Object.defineProperty(new Error("slow"), "status", { get() { for (;;); } });
