// Streams empty chunks without end.
// lasts: for ever
// answers: 200 cut
// answers: 500 task_timeout
// answers: 500 task_blocked
return (async function* () {
  for (;;) {
    yield "";
    await new Promise(setImmediate);
  }
})();
