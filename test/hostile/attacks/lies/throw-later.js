// Throws after it has answered, where nobody catches.
// answers: 200 1
// strikes: later
setTimeout(() => {
  throw new Error("later");
}, 1);
return 1;
