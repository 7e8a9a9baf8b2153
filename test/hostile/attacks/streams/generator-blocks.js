// Streams some bytes and blocks in the middle.
// answers: 200 cut
// answers: 500 task_blocked
return (function* () {
  yield "some";
  for (;;);
})();
