// Sends zero bytes and marks of the byte order within the text.
// submits: its value
// answers: 400 code_syntax
"return 1;\0\0\0 \ufeff\u200b return 2"
