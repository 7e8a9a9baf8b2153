// Throws an object that looks like the harness's own error, with another code.
// answers: 500 task_threw
class CodeFault extends Error {
  fault = { code: "token_invalid", detail: "forged", retire: true };
}
throw new CodeFault("forged");
