// Replaces the guest with another Node with other flags and code, which keeps the descriptor.
// answers: 500 task_blocked
// answers: 500 task_exited
// answers: 500 task_threw
// answers: 500 task_timeout
const text = "setInterval(() => {}, 1000)";
process.execve("/bin/node", ["node", "--allow-natives-syntax", "-e", text], {});
