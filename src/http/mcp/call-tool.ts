import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

import { asProblem } from "../problem.ts";
import { checkInput, type Uncount } from "./input-check.ts";
import { findOwnTool, findTaskTool, namesOfOwnTools, toolMeant } from "./list-tools.ts";
import type { McpCall } from "./mcp-call.ts";
import { refused } from "./refused.ts";
import { runTool } from "./run-tool.ts";
import { readArguments, type ToolResult } from "./tool.ts";

/** What a client calls. */
interface CallParams {
  readonly name: string;
  readonly arguments?: Record<string, unknown> | undefined;
}

/**
 * Calls a tool. A refusal is a result too, so that the model reads it.
 *
 * @param id the id of the message
 * @throws {ProtocolError} if the token has no tool with this name
 */
export async function callTool(received: McpCall, id: string | number, params: CallParams): Promise<ToolResult> {
  const { name, arguments: given = {} } = params;
  try {
    const own = findOwnTool(name, received);
    if (own) return await own.call({ received, id, ...readArguments(own, received, given) } as never);
    const task = await findTaskTool(name, received);
    if (!task)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool ${JSON.stringify(name.slice(0, 128))}${await toolMeant(name, received)}; ${toolsOf(received)}`,
      );
    const data = JSON.stringify(given);
    const run = { container: task.container, what: { task: name }, data, timeout: undefined };
    if (task.input === null) return await runTool(received, id, run);
    let uncount: Uncount | null = null;
    const check = async (): Promise<void> => {
      uncount = await checkInput(task, given, received.by.family);
    };
    return await runTool(received, id, { ...run, check, onBegun: () => uncount?.() });
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const problem = asProblem(error);
    if (problem.code === "internal_error") received.log.pino.error({ err: problem.options.cause }, "a tool failed");
    return refused(problem);
  } finally {
    received.release();
  }
}

function toolsOf(received: McpCall): string {
  const names = namesOfOwnTools(received).join(", ");
  const own = names === "" ? "the token permits no tool of the service" : `the tools of the service are ${names}`;
  return `${own}, and tools/list also lists the tasks that are tools`;
}
