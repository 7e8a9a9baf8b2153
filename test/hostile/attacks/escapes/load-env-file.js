// Makes Node read a file of the host as environment variables.
// answers: 500 task_threw ENOENT
// leaves: nothing
process.loadEnvFile(CANARY_FILE);
return process.env;
