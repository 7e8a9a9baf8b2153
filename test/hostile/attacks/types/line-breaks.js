// Hides a statement behind types and unusual line breaks, so that stripping would join separate statements.
// as: application/typescript
// answers: 400 code_syntax
// answers: 200
// answers: 500 task_threw
let x = 1 as
 any
 (process.title) satisfies unknown; return x
