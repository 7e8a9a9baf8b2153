// Says that it is ready, a thousand times, and that all code has been compiled.
// after: frames
// answers: 200 "ready"
for (let n = 0; n < 1_000; n++) {
  forge(64, 0);
  forge(71, n, "\0");
}
return "ready";
