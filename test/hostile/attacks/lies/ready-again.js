// Reports a thousand times that it is ready, and that all code was compiled.
// after: frames
// answers: 200 "ready"
for (let n = 0; n < 1_000; n++) {
  forge(64, 0);
  forge(71, n, "\0");
}
return "ready";
