// Imports a module that never ends.
// answers: 500 task_blocked
await import("data:text/javascript,for (;;);");
