// Signals whole groups of processes.
// answers: 500 task_exited
// answers: 500 task_threw
process._kill?.(-1, 9);
process._kill?.(0, 9);
return process.kill(-1, "SIGKILL");
