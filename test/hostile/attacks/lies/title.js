// Sets its title to the name of another run before it blocks.
// answers: 500 task_blocked
process.title = "r1";
for (;;);
