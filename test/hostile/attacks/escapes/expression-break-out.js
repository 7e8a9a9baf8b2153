// Closes the bracket that the harness puts around an expression.
// answers: 400 code_syntax
// leaves: nothing
1) , (globalThis.outside = true, 2
