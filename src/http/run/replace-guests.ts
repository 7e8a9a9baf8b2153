import type { ContainerManager } from "../../containers/container-manager.ts";
import type { Guest } from "../../containers/guest/guest.ts";
import { Problem } from "../../errors.ts";
import type { Restarts } from "../../policies/restarts.ts";
import type { PolicyStore } from "../../policies/store.ts";
import { endRuns } from "./find-runs.ts";
import { endedBySuspension } from "./suspension.ts";

/**
 * Replaces the guests of a container when it is restarted, and ends them when it is suspended, on this node or another.
 * Runs in flight finish first, unless they are to end too. Code that a run has left behind ends with its guest.
 */
export function replaceGuests(
  policies: Pick<PolicyStore, "onSuspended">,
  restarts: Pick<Restarts, "onRestart">,
  containers: Pick<ContainerManager, "replaceGuests">,
  guests: ReadonlySet<Guest>,
): void {
  const replace = (container: string, problem: Problem | null): void => {
    containers.replaceGuests(container, performance.now(), problem);
    if (problem) endRuns(guests, container, problem);
  };
  policies.onSuspended((container, { endsRuns }) => replace(container, endsRuns ? endedBySuspension(container) : null));
  restarts.onRestart(({ container, endsRuns, isSuspension }) => {
    const problem = isSuspension ? endedBySuspension(container) : restarted(container);
    replace(container, endsRuns ? problem : null);
  });
}

function restarted(container: string): Problem {
  const detail = `container "${container}" was restarted by a request, which ended the run`;
  return new Problem("container_restarted", detail, { hint: "Run it again." });
}
