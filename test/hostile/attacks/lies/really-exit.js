// Ends its process by the function below process.exit.
// answers: 500 task_exited
process.reallyExit(0);
