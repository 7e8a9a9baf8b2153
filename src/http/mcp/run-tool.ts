import { nextTurn } from "../../next-turn.ts";
import { endCount } from "../api/family-requests.ts";
import type { ToolRun } from "../tool-run.ts";
import { cancellable } from "./cancellations.ts";
import type { McpCall } from "./mcp-call.ts";
import { recordResult, type ShownRecord } from "./shown-record.ts";
import type { ToolResult } from "./tool.ts";

/**
 * Runs code or a task, with all checks and limits of other runs.
 *
 * @throws {Problem} if the run is not admitted
 */
export async function runTool(
  received: McpCall,
  id: string | number,
  run: Pick<ToolRun, "container" | "what" | "data" | "timeout" | "check"> & Partial<Pick<ToolRun, "onBegun">>,
): Promise<ToolResult> {
  const { call, by } = received;
  const { incoming, outgoing } = call.env;
  const onBegun = (): void => {
    received.release();
    run.onBegun?.();
    // From now on the limits of runs apply, and no longer those of requests to the API.
    endCount(outgoing);
  };
  const text = await cancellable(received, id, (signal) => {
    return received.runTool(incoming, outgoing, { ...run, signal, onBegun });
  });
  // A record may have half a megabyte.
  await nextTurn(by.family);
  return recordResult(JSON.parse(text) as ShownRecord, text);
}
