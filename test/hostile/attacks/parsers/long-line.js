// Has its fault at the end of a line of a megabyte, which is not shown whole.
// submits: its value
// answers: 400 code_syntax
"return '" + "x".repeat(1_000_000) + "' @"
