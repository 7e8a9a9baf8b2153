// Leaves variables, a working folder and a mask for the next run of the same container, and of another.
// answers: 200 "left"
process.env.LEFT = "left";
process.umask(0o777);
process.chdir("/");
process.exitCode = 9;
return process.env.LEFT;
// then, in another container
// answers: 200 [null,"/tmp"]
return [process.env.LEFT ?? null, process.cwd()];
