// Blocks its container after it has answered.
// answers: 200 "answered"
// strikes: later
setTimeout(() => {
  for (;;);
}, 5);
return "answered";
