// Streams without end, a little at a time.
// lasts: for ever
// answers: 200 cut
return (async function* () {
  for (;;) {
    yield "x";
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
})();
