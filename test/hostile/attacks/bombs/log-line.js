// Logs one line of many megabytes, and a thousand empty lines.
// answers: 200 "done"
console.log("x".repeat(16 << 20));
for (let n = 0; n < 1_000; n++) process.stdout.write("\n");
return "done";
