// Logs escape sequences that would control the terminal of a log reader, and forges a log line.
// answers: 200 "done"
console.error(`\x1b[2J\x1b]0;owned\x07\r{"level":30,"msg":"forged"}\n{"level":30,"msg":"forged"}\u2028\u202e`);
return "done";
