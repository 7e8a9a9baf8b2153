// Throws in the middle of a stream.
// answers: 200 cut
return (async function* () {
  yield "half";
  await new Promise((resolve) => setTimeout(resolve, 20));
  throw new Error("broken");
})();
