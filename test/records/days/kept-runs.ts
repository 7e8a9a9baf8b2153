import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { openRecordStore, type RecordStoreOptions } from "../../../src/records/days/day-store.ts";
import type { Cursor, RunQuery } from "../../../src/records/query.ts";
import { RecordThreads } from "../../../src/records/record-threads.ts";
import type { KeptRun, RecordError, RunRecord } from "../../../src/records/record.ts";
import type { RecordStore } from "../../../src/records/store.ts";
import { until } from "../../contract/until.ts";
import { BOUNDS } from "../bounds.ts";

export const DAY_MS = 86_400_000;
export const OPTIONS: RecordStoreOptions = {
  ...BOUNDS,
  keepRuns: 30 * DAY_MS,
  runsSize: 2 ** 30,
  runsRate: 2 ** 30,
  familyRuns: 2 ** 30,
};

/** Every run that a reader may see. */
export const ALL: RunQuery = {
  permitted: ["*"],
  container: null,
  task: null,
  statuses: null,
  sinceMs: null,
  untilMs: null,
  text: null,
  after: null,
  count: 100,
};

const ADDED_AT_ONCE = 5_000;
let runs = 0;
const folders: string[] = [];

export type Made = Partial<RunRecord> & Partial<Pick<KeptRun, "family" | "network" | "lineage" | "startedMs">>;

/** Makes the record of a run. Each call has another id. */
export function keptRun({
  family = "family",
  network = null,
  lineage = ["jti"],
  startedMs = Date.now(),
  ...members
}: Made = {}): KeptRun {
  const record: RunRecord = {
    run: `0123456789ab-${(runs++).toString(36)}`,
    container: "acme",
    task: null,
    version: null,
    trigger: "call",
    node: "a1",
    token: "jti",
    status: "ok",
    resultType: "application/json",
    response: null,
    console: [],
    dropped: { lines: 0, bytes: 0 },
    error: null,
    hint: null,
    startedAt: new Date(startedMs).toISOString(),
    ms: { queue: 0.5, start: 0.1, run: 12 },
    start: "warm",
    guest: { cpuMs: 9.1, memoryPeakBytes: 31_457_280, concurrentRuns: 0 },
    egress: { connections: 1, bytesSent: 812, bytesReceived: 4_096, refused: 0 },
    traceparent: null,
    limits: { container: { minute: { limit: 60, remaining: 58, resetMs: 41_000, setBy: "token" } }, token: {} },
    ...members,
  };
  return { record, family, network, lineage, startedMs };
}

/** Makes an error that a task threw at a line of its text. */
export function thrown(message: string, members: Partial<RecordError> = {}): Pick<RunRecord, "status" | "error"> {
  const at = { file: "task.js", line: 3, column: 7, frame: "> 3 | throw error" };
  const error = {
    code: "task_threw",
    name: "Error",
    message,
    hint: null,
    at,
    stack: `Error: ${message}\n at task.js:3:7`,
  };
  return { status: "threw", error: { ...error, ...members } };
}

/** Creates a folder, which is deleted when the process ends. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "runs-"));
  folders.push(folder);
  return folder;
}

process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A store in its own folder. */
export async function openStore(options: Partial<RecordStoreOptions> = {}): Promise<Opened> {
  return reopenStore(await newFolder(), options);
}

export interface Opened extends AsyncDisposable {
  readonly folder: string;
  readonly store: RecordStore;
}

export function reopenStore(folder: string, options: Partial<RecordStoreOptions> = {}): Opened {
  // With its own threads, which have no file of usage or audit to open.
  const threads = new RecordThreads(folder);
  const store = openRecordStore(folder, threads, { ...OPTIONS, ...options });
  const close = store.close.bind(store);
  store.close = async () => {
    await close();
    await threads.close();
  };
  return { folder, store, [Symbol.asyncDispose]: () => store.close() };
}

/** Adds runs, and waits until they can be read. */
export async function addAll(store: RecordStore, all: readonly KeptRun[]): Promise<void> {
  // In parts, because a longer queue than that of the writer would drop runs.
  for (let at = 0; at < all.length; at += ADDED_AT_ONCE) {
    const part = all.slice(at, at + ADDED_AT_ONCE);
    for (const kept of part) store.add(kept);
    // The runs of a day are written in order, and each day separately.
    const last = new Map(part.map(({ startedMs, record }) => [Math.floor(startedMs / DAY_MS), record]));
    for (const { container, run } of last.values()) {
      await until(async () => (await store.get(container, run, "test")) !== null, `run ${run} is stored`);
    }
  }
}

/** Writes runs of several containers into a folder, of which some have failed, as a service has them on its disk. */
export async function keepMany(folder: string, count: number, containers: number): Promise<void> {
  const { store } = reopenStore(folder);
  const startMs = Date.now() - count;
  const all = Array.from({ length: count }, (_, at) =>
    keptRun({
      container: `c${at % containers}`,
      startedMs: startMs + at,
      ...(at % 7 === 0 && thrown(`failure ${at}`)),
    }),
  );
  await addAll(store, all);
  await store.close();
}

/** Follows the cursors from the first page. @returns the ids of all runs. */
export async function walkAll(store: RecordStore, query: Partial<RunQuery> = {}): Promise<string[]> {
  const found: string[] = [];
  for (let after: Cursor | null = null; ;) {
    const { runs: page, next } = await store.list({ ...ALL, ...query, after }, "test");
    found.push(...page.map(({ entry }) => entry.run));
    if (!next) return found;
    after = next;
  }
}
