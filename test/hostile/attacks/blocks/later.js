// Blocks its container after it has answered.
// answers: 200 "answered"
// strikes: later, by a block
setTimeout(() => {
  for (;;);
}, 5);
return "answered";
