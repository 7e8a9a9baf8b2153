// Streams one chunk that is larger than all windows together.
// answers: 200
return (function* () {
  yield new Uint8Array(16 << 20);
})();
