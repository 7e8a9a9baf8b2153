/** Writes `docs/errors.md`, which a test holds against the table of errors. */
import { writeFileSync } from "node:fs";

import { type Fault, PROBLEMS } from "../src/errors.ts";

const HEAD = `# Errors

Made from \`src/errors.ts\` by \`npm run docs\`.

What fails is answered as \`application/problem+json\` (RFC 9457):

| member       | what it is                                                                          |
| ------------ | ----------------------------------------------------------------------------------- |
| \`type\`       | a URI of the errors page, the code as its fragment                                  |
| \`title\`      | what the code means                                                                 |
| \`status\`     | the status of the answer                                                            |
| \`detail\`     | what happened; where code does not parse, its line with a caret                     |
| \`code\`       | stable, for programs                                                                |
| \`run\`        | the run, as in the header \`Caisson-Run\` and in the log                              |
| \`hint\`       | what helps, in one sentence, where that is known                                    |
| \`retryAfter\` | seconds to wait, as in the header \`Retry-After\`; \`retryAfterMs\` is the exact number |
| \`violations\` | each single fault, where several are told at once                                   |
| \`error\`      | what a task threw or passed to its callback, see below                              |

The header \`Caisson-Fault\` names whose doing it is: \`caller\`, \`task\`, \`limit\` or \`service\`.

\`error\` has \`name\`, \`message\`, and \`stack\` in lines and columns of the submitted code (\`task.js\`, \`task.ts\`, or the name
of a module of the envelope); the \`cause\` of an error with causes of its own, up to 8; the \`errors\` of an
\`AggregateError\`, up to 16; and as further members those of its own enumerable properties that are JSON of at most 4 KiB,
16 KiB together, but for \`config\`, \`request\` and \`response\`, in which HTTP clients keep credentials. Whoever runs a code
is shown what it throws: keep secrets out of errors.

An error that a task throws or calls back with can choose its answer by an integer \`status\` or \`statusCode\` in
400..599, but for 401, 403, 407, 429 and 503, which stay the service's own.
`;

const FAULTS: Readonly<Record<Fault, string>> = {
  caller: "fault of the caller",
  task: "fault of the task",
  limit: "a limit",
  service: "fault of the service",
};

/** The page that documents every code. */
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

if (import.meta.main) writeFileSync("docs/errors.md", errorsDocument());
