import { Problem } from "../../errors.ts";
import type { PolicyStore } from "../../policies/store.ts";

/** @param container a valid name, whose characters need no encoding in a path */
function hint(container: string): string {
  return `An administrator can resume it with POST /api/containers/${container}/resume.`;
}

/** @throws {Problem} `container_suspended` */
export function mustTakeRuns(container: string, policies: Pick<PolicyStore, "get">): void {
  if (!policies.get(container)?.suspended) return;
  throw new Problem("container_suspended", `container "${container}" is suspended`, { hint: hint(container) });
}

/** Returns the answer to a run that was in flight. */
export function endedBySuspension(container: string): Problem {
  return new Problem("container_suspended", `container "${container}" was suspended, which ended the run`, {
    hint: hint(container),
  });
}
