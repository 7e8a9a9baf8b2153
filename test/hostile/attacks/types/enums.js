// Has the stripper make code, which stripping never does.
// as: application/typescript
// answers: 400 code_syntax enum
enum Colour { red = process.exit(1) }
return Colour.red
