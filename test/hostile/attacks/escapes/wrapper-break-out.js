// Closes the function that the harness puts around the text, and opens another function.
// answers: 400 code_syntax
// leaves: nothing
}); globalThis.outside = true; (async function () {
