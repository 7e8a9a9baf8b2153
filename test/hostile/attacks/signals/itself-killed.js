// Kills itself by the function below process.kill.
// answers: 500 task_exited
// answers: 500 task_threw
// answers: 200 "survived"
process._kill(process.pid, 9);
await new Promise((resolve) => setTimeout(resolve, 50));
return "survived";
