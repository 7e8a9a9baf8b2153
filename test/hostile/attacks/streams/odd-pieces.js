// Streams chunks that are neither bytes nor text.
// answers: 200 cut
// answers: 500 task_threw
return (function* () {
  yield "first";
  yield { length: 2 ** 32, byteLength: -1, buffer: null };
})();
