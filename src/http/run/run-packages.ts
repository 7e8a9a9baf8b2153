import type { Config } from "../../config.ts";
import type { Artefact, Lock, PackageSet } from "../../packages/model.ts";
import type { Ranges } from "../../packages/names.ts";
import type { Packages } from "../../packages/packages.ts";
import type { Asker } from "../../packages/shared-builds.ts";
import type { RecordPackages } from "../../records/record.ts";
import { askerOf } from "../../tasks/task-packages.ts";
import type { Caller } from "../../tokens/caller.ts";
import { whileClientWaits } from "./client-left.ts";
import type { RunCall } from "./run-call.ts";
import type { RunInput } from "./run-input.ts";

/** What the code of a run imports. */
export interface RunPackages {
  readonly set: PackageSet;
  /** The lock of the task, or null. */
  readonly from: Lock | null;
}

/** The code, as the scan for names reads it. */
interface Texts {
  readonly source: Uint8Array;
  readonly modules: Readonly<Record<string, string>> | null;
}

type Dependencies = { readonly config: Config; readonly packages: Packages };

/** The longest that a run waits for a build. It holds a place in its container. */
const MAX_WAIT_MS = 5_000;

/**
 * Returns the packages of a run before its admission; null if it imports none, or if its code is not there yet. Returns a promise only
 * for long code.
 *
 * @throws {Problem} `packages_forbidden`, `packages_too_large`, `request_invalid`
 */
export function packagesBefore(
  { task, caller }: RunCall,
  { code, ranges, from }: Pick<RunInput, "code" | "ranges" | "from">,
  packages: Packages,
): RunPackages | null | Promise<RunPackages | null> {
  if (code) return packagesOfTexts(code, ranges, from, caller, packages);
  const lock = task?.inline ? task.lock : null;
  if (!lock) return null;
  // The list of the operator may have become shorter since the task was put.
  packages.permits.require(lock, caller.claims.packages);
  return { set: lock, from: lock };
}

/**
 * Returns the packages of code that was fetched after the admission.
 *
 * @throws {Problem} as `packagesBefore`
 */
export function packagesOfFetched(
  { task, caller }: RunCall,
  code: Texts,
  { ranges, from }: Pick<RunInput, "ranges" | "from">,
  packages: Packages,
): RunPackages | null | Promise<RunPackages | null> {
  return packagesOfTexts(code, task?.packages ?? ranges, task?.lock ?? from, caller, packages);
}

/**
 * Returns the artefact of an admitted run, at once if it is in memory. A build may take seconds, so it comes after the admission: it
 * counts for the limits.
 *
 * @throws {Problem} `packages_building`, and as `Builder.build`
 */
export function artefactOf(
  call: RunCall,
  named: RunPackages,
  dependencies: Dependencies,
): Artefact | Promise<Artefact> {
  const by = askerOfRun(call);
  const ready = dependencies.packages.ready(named.set, by, named.from);
  if (!ready) return waitForArtefact(call, named, by, dependencies);
  call.lock = ready.lock;
  return ready.artefact;
}

async function waitForArtefact(
  call: RunCall,
  { set, from }: RunPackages,
  by: Asker,
  { packages, config }: Dependencies,
): Promise<Artefact> {
  const { caller } = call;
  const isOfTask = from !== null && call.task?.lock === from;
  const waitMs = Math.min(MAX_WAIT_MS, config.wallLimit, caller.timeoutMs);
  const { lock, artefact } = await whileClientWaits(call, (signal) => {
    return packages.resolve(set, by, { waitMs, signal }, from, isOfTask ? call.task : null);
  });
  call.lock = lock;
  return artefact;
}

/** Returns the token that the packages of a run are built for. The token of a draft is never stored, and its family ends with the run. */
function askerOfRun({ caller, bearer, draft }: RunCall): Asker {
  return askerOf(draft === null ? caller : bearer!);
}

const records = new WeakMap<Lock, RecordPackages>();

/** Returns what a record has of a lock. */
export function recordPackages(lock: Lock): RecordPackages {
  let record = records.get(lock);
  if (!record) {
    const versions = Object.entries(lock.roots).map(([name, key]) => [name, key.slice(name.length + 1)]);
    record = { lock: lock.key, versions: Object.fromEntries(versions) as Record<string, string> };
    records.set(lock, record);
  }
  return record;
}

function packagesOfTexts(
  { source, modules }: Texts,
  ranges: Ranges | null,
  from: Lock | null,
  { claims, family }: Caller,
  packages: Packages,
): RunPackages | null | Promise<RunPackages | null> {
  const bytes = Buffer.isBuffer(source) ? source : Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const texts = modules === null ? [bytes] : [bytes, ...Object.values(modules)];
  const set = packages.permits.namedInTurns(texts, ranges, claims.packages, family);
  if (!(set instanceof Promise)) return set && { set, from };
  return set.then((named) => named && { set: named, from });
}
