// Requires the stripper to generate code, which it never does.
// as: application/typescript
// answers: 400 code_syntax enum
enum Colour { red = process.exit(1) }
return Colour.red
