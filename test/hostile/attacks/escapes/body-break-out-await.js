// Closes the wrapper of an asynchronous body, whose text is a script.
// answers: 400 code_syntax
await null }); process.exit(); (async function () { await null
