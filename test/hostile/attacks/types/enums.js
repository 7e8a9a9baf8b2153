// Ends the process from code that the stripper generates. Only the run itself executes that code.
// as: application/typescript
// answers: 500 task_exited
enum Colour { red = process.exit(1) }
return Colour.red
