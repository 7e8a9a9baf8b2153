// Closes the wrapper of an asynchronous body, whose text is a script.
// answers: 400 code_syntax
// leaves: nothing
await null }); process.exit(); (async function () { await null
