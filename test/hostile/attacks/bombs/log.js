// Writes to its console as fast as it can, and far more than anybody keeps.
// answers: 200 "done"
for (let n = 0; n < 50_000; n++) console.log("x".repeat(100));
return "done";
