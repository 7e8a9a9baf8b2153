import { Problem } from "../../errors.ts";
import { CancelledReader } from "../../nodes/answers/run.ts";
import { requireContainer } from "../permissions.ts";
import { containerName } from "../target.ts";
import { askForRun, authenticateReading, nodeAnswer } from "./node-reads.ts";
import { type ApiDependencies, audit, type Handler, json, segment } from "./route.ts";

/** The indexes of these segments in `/api/runs/{container}/{run}`. */
const CONTAINER = 3;
const RUN = 4;

/** Cancels a run of the token, or of a token below it. Administrators may cancel every run. */
export function cancelRoute(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const reading = await authenticateReading(call, dependencies);
    const { by, reader, isOfNode } = reading;
    const container = containerName(segment(call, CONTAINER));
    const run = segment(call, RUN);
    requireContainer(by.claims, container, "cancelling runs");
    const cancelled = { run, status: "cancelled" };
    if (dependencies.cancel(container, run, by)) {
      // The node of the run adds the entry, so that an answer that is lost between two nodes costs none.
      const client = isOfNode ? { client: reader.client } : {};
      const { claims, quotaFamily } = by;
      await audit(call, dependencies, "run cancelled", { claims, quotaFamily, ...client }, { container, run });
      return isOfNode ? nodeAnswer(`${JSON.stringify(cancelled)}\n`) : json(200, cancelled);
    }
    const request = { method: "DELETE", container, run } as const;
    if (await askForRun(dependencies, reading, request, () => new CancelledReader(run))) return json(200, cancelled);
    throw new Problem("not_found", "no run with this id is in flight here that the token may cancel", {
      hint: "GET /api/runs/{container}?status=running lists the runs in flight, for tokens with the verb logs.",
    });
  };
}
