// Closes the function that the harness puts around the text, and opens another function.
// answers: 400 code_syntax
}); globalThis.outside = true; (async function () {
