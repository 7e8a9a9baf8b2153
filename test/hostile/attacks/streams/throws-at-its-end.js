// Never finishes its cleanup when its stream is cancelled.
// lasts: for ever
// answers: 200 cut
return (async function* () {
  try {
    for (;;) {
      yield "x";
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await new Promise(() => {});
  }
})();
