// Logs as fast as it can, and far more than the limits allow. Its event loop turns, so that it does not seem blocked.
// answers: 200 "done"
for (let n = 0; n < 50_000; n++) {
  console.log("x".repeat(100));
  if (n % 5_000 === 0) await new Promise(setImmediate);
}
return "done";
