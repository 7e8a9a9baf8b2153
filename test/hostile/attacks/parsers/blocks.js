// Nests blocks and loops.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 200
"for(;;){".repeat(0) + "{if(1)".repeat(50_000) + "1" + "}".repeat(50_000)
