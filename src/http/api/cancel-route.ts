import { Problem } from "../../errors.ts";
import { permitsContainer } from "../../tokens/claims.ts";
import { containerName } from "../target.ts";
import { readParameters } from "./page-query.ts";
import { type ApiDependencies, audit, authenticate, forbidden, type Handler, json, segment } from "./route.ts";

/** The indexes of these segments in `/api/runs/{container}/{run}`. */
const CONTAINER = 3;
const RUN = 4;

/** Cancels a run of the token, or of a token below it. Administrators may cancel every run. */
export function cancelRoute(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const by = await authenticate(call, dependencies);
    const container = containerName(segment(call, CONTAINER));
    const run = segment(call, RUN);
    readParameters(call, []);
    if (!permitsContainer(by.claims, container)) throw forbidden();
    if (!dependencies.cancel(container, run, by)) {
      throw new Problem("not_found", "no run with this id is in flight here that the token may cancel");
    }
    await audit(call, dependencies, "run cancelled", by, { container, run });
    return json(200, { run, status: "cancelled" });
  };
}
