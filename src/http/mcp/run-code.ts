import { z } from "zod";

import { rangesMember } from "../../packages/member.ts";
import type { Ranges } from "../../packages/names.ts";
import { formatDuration } from "../../units.ts";
import { networkSentence, packagesSentence } from "./instructions.ts";
import type { McpTarget } from "./mcp-call.ts";
import { runTool } from "./run-tool.ts";
import type { OwnTool } from "./tool.ts";

interface Given {
  readonly code: string;
  readonly data?: unknown;
  readonly packages?: Ranges;
  readonly timeout?: string;
}

/** Runs code that the model writes. */
export const RUN_CODE: OwnTool<Given> = {
  name: "run_code",
  title: "Run code",
  verb: "run",
  isReadOnly: false,
  schema: z.strictObject({
    code: z
      .string("must be the code, as text")
      .meta({ description: "JavaScript or TypeScript, without a Markdown fence" }),
    data: z.unknown().optional().meta({ description: "any JSON, which the code reads as context.body" }),
    packages: rangesMember.optional().meta({
      description: 'the npm packages that the code imports, with their ranges, such as {"zod": "^4"}',
    }),
    timeout: z
      .string("must be a duration such as 5s")
      .optional()
      .meta({ description: "the longest that the run may take, such as 500ms or 5s" }),
  }),
  describe: describeRun,
  call: ({ received, id, container, given: { code, data, packages, timeout } }) => {
    const text = data === undefined ? null : JSON.stringify(data);
    return runTool(received, id, { container, what: { code, packages }, data: text, timeout });
  },
};

function describeRun(target: McpTarget): string {
  const { by, config } = target;
  const mostMs = Math.min(config.wallLimit, by.timeoutMs);
  return [
    "Runs JavaScript or TypeScript on Node.js in an isolated container, and returns the value.",
    "Return a value: the last statement may be an expression, or use return. The value must be JSON; print other things with console.log, which is shown too.",
    `await works everywhere. Node's own modules can be imported or required. ${packagesSentence(target)}`,
    "There is no shell: no process can be started. No file stays after the run, and nothing listens.",
    networkSentence(target),
    `A run ends after ${formatDuration(mostMs)}, and code may not block for ${formatDuration(config.blockLimit)}.`,
    "Do not rely on variables of earlier runs.",
  ].join("\n");
}
