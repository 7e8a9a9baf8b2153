import type { Lock } from "@caisson/client";

import { linkTo } from "../route.ts";

interface TaskPackagesProps {
  readonly lock: Lock;
  readonly isBusy: boolean;
  readonly onUpdate: () => void;
}

/** The exact versions that a task keeps until a reader moves them. */
export function TaskPackages({ lock, isBusy, onUpdate }: TaskPackagesProps) {
  return (
    <div class="actions">
      <span class="quiet">
        locked to <span class="mono">{Object.values(lock.roots).join(", ")}</span>
      </span>
      <a href={linkTo("packages", [lock.key])}>Lock</a>
      <button type="button" disabled={isBusy} onClick={onUpdate}>
        Update versions
      </button>
    </div>
  );
}
