// Writes to its console as fast as it can, and far more than anybody keeps; it lets go of its event loop, so as not to be taken for one that blocks.
// answers: 200 "done"
for (let n = 0; n < 50_000; n++) {
  console.log("x".repeat(100));
  if (n % 5_000 === 0) await new Promise(setImmediate);
}
return "done";
