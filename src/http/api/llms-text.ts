/**
 * Returns the page `/llms.txt`: what a language model must know to use this service (https://llmstxt.org). Programs paste it
 * into a prompt, so it is short, and its rules stand alone.
 */
export function llmsText(): string {
  return `# caisson

> This service runs JavaScript and TypeScript over HTTP, in isolated containers, and limits each container and each token over
> six time windows. One request carries the code and a token, and the answer carries the result.

## Run code

Send the code as the body of \`POST /api/runs/{container}\` with the header \`Authorization: Bearer <token>\`. The answer is 200 with a
JSON record of the run, also if the code failed. \`POST /api/run/{container}\` runs the same code and answers with the bare result.

- Return the value: \`return 6 * 7\`, or \`export default (context) => 6 * 7\`. An expression alone is its value. A body without
  \`return\` gives \`null\`.
- The result is JSON. A Map, a Set and a class instance lose their content: return arrays and plain objects.
- To give data to the code, send \`{"code": "return context.data.n * 2", "data": {"n": 21}}\` with \`Content-Type: application/json\`.
- All of TypeScript runs, also enums and namespaces; types are not checked. Node's own modules work: \`import { createHash } from "node:crypto"\`.
- Top-level \`await\`, \`fetch\` and timers work. There is no shell, no file of the host, and nothing can listen. The token decides which
  hosts the code reaches.
- \`console.log\` lines are in \`console\` of the record.
- \`?timeout=5s\` ends the run earlier than the limit of the service.

## Read the record

- \`status\` is \`ok\`, or why the run failed: \`threw\`, \`syntax\`, \`timeout\`, \`blocked\`, \`memory\`, \`exited\` and others.
- \`result\` is the value. \`hint\` says what was probably meant if there is none.
- \`error\` has \`code\`, \`name\`, \`message\`, and in \`at\` the \`line\`, the \`column\` and a \`frame\` of the code around it. Correct the code
  there and run it again.

## Errors and limits

A request that was not admitted is a problem document (RFC 9457) with \`code\`, \`detail\` and often a \`hint\`.

- 400: the request or the code is wrong, and \`detail\` says what.
- 403: the token is missing, not valid, or not permitted to do this.
- 429: a limit is used up. Wait \`retryAfterMs\` milliseconds and send the request again. It has counted nothing.
- 503: the service cannot take the run now. Wait for \`Retry-After\` seconds.

## Reference

- [OpenAPI](/openapi.json): all paths, parameters and answers
- [Errors](/errors): all codes, and what helps
`;
}
