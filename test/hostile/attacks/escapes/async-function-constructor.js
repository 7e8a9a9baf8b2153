// Uses the constructor of async functions, which some jails do not block.
// answers: 500 task_threw ENOENT
// leaves: nothing
const AsyncFunction = (async () => {}).constructor;
return AsyncFunction("path", "return (await import('node:fs')).readFileSync(path, 'utf8')")(CANARY_FILE);
