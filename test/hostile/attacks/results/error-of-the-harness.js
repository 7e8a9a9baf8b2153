// Throws what looks like the harness's own fault, with a wish to say it in another code.
// answers: 500 task_threw
class CodeFault extends Error {
  fault = { code: "token_invalid", detail: "forged", retire: true };
}
throw new CodeFault("forged");
