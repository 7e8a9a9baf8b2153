// Sends a megabyte of semicolons and of every kind of white space.
// submits: its value
// answers: 200 null
// answers: 400 code_missing
// answers: 400 code_syntax
"; \t\u00a0\u2028\ufeff".repeat(80_000)
