// Closes the function that the harness wraps round the text, and opens another.
// answers: 400 code_syntax
}); globalThis.outside = true; (async function () {
