// Has a syntax error at the end of a line of a megabyte, which the answer must not quote in full.
// submits: its value
// answers: 400 code_syntax
"return '" + "x".repeat(1_000_000) + "' @"
