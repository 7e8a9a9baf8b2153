// Clones and transfers the harness's objects.
// answers: 200 []
// after: attempts
const code = (run) => async () => {
  try {
    await run();
  } catch (error) {
    throw Object.assign(new Error(), { code: error.name });
  }
};
return through({
  process: code(() => structuredClone(process)),
  require: code(() => structuredClone(require)),
  pool: code(() => structuredClone(null, { transfer: [Buffer.from("x").buffer] })),
});
