// Continues after its answer, and answers any later run.
// after: frames
// answers: 200 "mine"
setInterval(() => {
  for (let slot = 0; slot < 64; slot++) if (slot !== own % 65_536) forge(65, slot, '"not yours"');
}, 1);
return "mine";
// then, in another container
// answers: 200 "mine too"
await new Promise((resolve) => setTimeout(resolve, 100));
return "mine too";
