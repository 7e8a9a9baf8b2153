// Sends zero bytes and byte order marks within the text.
// submits: its value
// answers: 400 code_syntax
"return 1;\0\0\0 \ufeff\u200b return 2"
