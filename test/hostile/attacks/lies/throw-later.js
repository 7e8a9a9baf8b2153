// Throws after its answer, outside of any handler.
// answers: 200 1
// strikes: later
setTimeout(() => {
  throw new Error("later");
}, 1);
return 1;
