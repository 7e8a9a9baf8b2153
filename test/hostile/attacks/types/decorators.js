// Hides calls in decorators and namespaces.
// as: application/typescript
// answers: 400 code_syntax
@(process.exit(1)) class A {}
namespace N { process.exit(1) }
