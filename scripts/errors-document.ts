/** Writes `docs/reference/errors.md`, which a test compares with the table of errors. */
import { writeFileSync } from "node:fs";

import { type Fault, PROBLEMS } from "../src/error-codes.ts";

const HEAD = `# Errors

Generated from \`src/error-codes.ts\` by \`npm run docs\`.

The service answers a failed request with \`application/problem+json\` (RFC 9457):

| member       | what it is                                                                          |
| ------------ | ----------------------------------------------------------------------------------- |
| \`type\`       | a URI of the errors page, the code as its fragment                                  |
| \`title\`      | what the code means                                                                 |
| \`status\`     | the status of the answer                                                            |
| \`detail\`     | what happened; for code that does not parse, its line with a caret                  |
| \`code\`       | stable, for programs                                                                |
| \`run\`        | the run, as in the header \`Caisson-Run\` and in the log                              |
| \`hint\`       | the fix in one sentence, if it is known                                             |
| \`retryAfter\` | seconds to wait, as in the header \`Retry-After\`; \`retryAfterMs\` is the exact number |
| \`violations\` | each fault: \`detail\`, and its \`member\`; in an envelope its \`pointer\` (\`#/code\`)     |
| \`error\`      | what a task threw or passed to its callback, see below                              |

The header \`Caisson-Fault\` names the cause: \`caller\`, \`task\`, \`limit\` or \`service\`.

\`error\` has these members:

| member               | content                                                                                    |
| -------------------- | ------------------------------------------------------------------------------------------ |
| \`name\`, \`message\`    | of the error                                                                               |
| \`stack\`              | in lines and columns of the submitted code (\`task.js\`, \`task.ts\`, or the name of a module) |
| \`cause\`              | the error's cause, and the causes of that, up to 8                                         |
| \`errors\`             | the errors of an \`AggregateError\`, up to 16                                                |
| its own JSON members | own enumerable properties that are JSON of at most 4 KiB, 16 KiB together                  |

If the code ends with an inline source map, stacks have the positions of the original code.

The members \`config\`, \`request\` and \`response\` are left out, because HTTP clients keep credentials in them. Every client with
a token that may run a task sees what the task throws: keep secrets out of errors. A client without a token sees it only if the public
task has \`"errors": "shown"\`.

A task can choose the status of its answer: it throws an error, or calls back with one, that has an integer \`status\` or \`statusCode\`
in 400..599. The statuses 401, 403, 407, 429 and 503 are reserved for the service.
`;

const FAULTS: Readonly<Record<Fault, string>> = {
  caller: "fault of the caller",
  task: "fault of the task",
  limit: "a limit",
  service: "fault of the service",
};

/** Returns the page that documents every code. */
export function errorsDocument(): string {
  const byStatus = Map.groupBy(Object.entries(PROBLEMS), ([, { status }]) => status);
  const parts = [...byStatus].map(([status, problems]) => {
    const sections = problems.map(([code, { fault, title, help }]) => {
      return `### ${code}\n\n${title} (${FAULTS[fault]}). ${help}\n`;
    });
    return `## ${status}\n\n${sections.join("\n")}`;
  });
  return [HEAD, ...parts].join("\n");
}

if (import.meta.main) writeFileSync("docs/reference/errors.md", errorsDocument());
