// Throws an error whose status is asked for, and never told.
// answers: 500 task_blocked
throw Object.defineProperty(new Error("slow"), "status", { get() { for (;;); } });
