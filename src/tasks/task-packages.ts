import { isDeepStrictEqual } from "node:util";

import { membersProblem } from "../members.ts";
import type { Lock, PackageSet } from "../packages/model.ts";
import type { Ranges } from "../packages/names.ts";
import type { Packages } from "../packages/packages.ts";
import type { Permits } from "../packages/permits.ts";
import type { PackagesClaim } from "../packages/policy.ts";
import type { Asker } from "../packages/shared-builds.ts";
import type { Caller } from "../tokens/caller.ts";
import type { TaskCode } from "./task-code.ts";
import { TASK } from "./task-request.ts";
import type { Task } from "./task.ts";

/** What tasks need of the packages. */
export interface TaskPackages extends Pick<Packages, "lockOf" | "pin"> {
  readonly permits: Pick<Permits, "require" | "namedInTurns">;
}

/** The packages of a task after a change. */
export interface WantedPackages {
  readonly set: PackageSet;
  /** The lock whose versions stay, or null. */
  readonly from: Lock | null;
  /** The packages whose versions move. */
  readonly update: readonly string[];
}

/** A build ends earlier, at its deadline. */
const WAIT_MS = 3_600_000;

/**
 * Returns the packages of a task after a change, or null if it imports none. The lock of the active version stays, except for what
 * `update` names and for packages that it does not have.
 *
 * @param code null if the code is fetched
 * @param kept the lock of the version to which the task is rolled back
 * @param holder the `holder` argument of `nextTurn`
 * @throws {Problem} `packages_forbidden`, `packages_too_large`, `request_invalid`
 */
export async function packagesOfTask(
  { code, ranges, update, claim }: TaskTexts,
  active: Task | null,
  kept: Lock | null,
  packages: TaskPackages,
  holder: string,
): Promise<WantedPackages | null> {
  const texts = code === null ? [] : [code.code, ...Object.values(code.modules ?? {})];
  const set = kept ?? (await packages.permits.namedInTurns(texts, ranges, claim, holder));
  const unknown = update.find((name) => set === null || !Object.hasOwn(set.ranges, name));
  if (unknown !== undefined) {
    throw membersProblem(TASK, [{ member: "update", detail: `has ${unknown}, which the task does not import` }]);
  }
  if (kept) packages.permits.require(kept, claim);
  if (set === null) return null;
  return { set, from: kept ?? active?.lock ?? null, update };
}

/** The members of a task that name packages. */
export interface TaskTexts {
  readonly code: TaskCode | null;
  readonly ranges: Ranges | null;
  readonly update: readonly string[];
  /** The packages that the token of the task permits. */
  readonly claim: PackagesClaim;
}

/** Whether the active task has the lock that the change would make, so that no build is necessary to tell. */
export function hasPackages({ lock }: Pick<Task, "lock">, wanted: WantedPackages | null): boolean {
  if (lock === null || wanted === null) return lock === wanted;
  const { set, update } = wanted;
  return update.length === 0 && isDeepStrictEqual([lock.ranges, lock.entries], [set.ranges, set.entries]);
}

/** Makes the lock of a task. @throws {Problem} as `Packages.lockOf` */
export async function lockOfTask(
  wanted: WantedPackages,
  by: Caller,
  packages: TaskPackages,
  onWait: () => void,
): Promise<Lock> {
  const { set, from, update } = wanted;
  return await packages.lockOf(set, from, update, askerOf(by), { waitMs: WAIT_MS, onWait });
}

/** Returns the token for which a build is made. */
export function askerOf(caller: Caller): Asker {
  const { family, quotaFamily, claims } = caller;
  return { family, quotaFamily, jti: claims.jti, caller };
}
