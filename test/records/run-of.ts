import type { EndedRun } from "../../src/records/ended-run.ts";
import type { ConsoleLine, RecordError, RunRecord, RunStatus } from "../../src/records/record.ts";
import { TrimmedRun } from "../../src/records/trimmed-run.ts";

export interface RunOptions {
  container?: string;
  family?: string;
  status?: RunStatus;
  startedMs?: number;
  /** The texts of its console lines. */
  printed?: readonly string[];
  error?: Partial<RecordError> | null;
  task?: string | null;
  input?: string;
  record?: Partial<RunRecord>;
}

let count = 0;

/** Creates an ended run with a new id. Without options it is a silent success in the container `demo`. */
export function runOf(options: RunOptions = {}): EndedRun & { readonly record: RunRecord } {
  const { container = "demo", family = "family", status = "ok", startedMs = 1_000_000 + count, printed = [] } = options;
  count += 1;
  const run = `00000000cafe-${count.toString(36)}`;
  const lines: ConsoleLine[] = printed.map((text, at) => ({ atMs: at, level: "info", text }));
  const error = status === "ok" || status === "running" ? null : errorOf(options.error ?? {});
  const record: RunRecord = {
    ...{ run, container, task: options.task ?? null, version: null, trigger: "call", node: "n1", token: null, status },
    ...{ resultType: null, response: null, console: lines, dropped: { lines: 0, bytes: 0 }, error, hint: null },
    startedAt: new Date(startedMs).toISOString(),
    ms: { queue: 0, start: 0, run: 1 },
    start: "warm",
    guest: { cpuMs: null, memoryPeakBytes: null, concurrentRuns: 0 },
    egress: { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 },
    traceparent: null,
    limits: { container: {}, token: {} },
    ...(options.input !== undefined && { input: options.input }),
    ...options.record,
  };
  const texts = [...printed, error?.message ?? "", error?.stack ?? ""];
  const ended: EndedRun & { readonly record: RunRecord } = {
    ...{ run, container, status, family, startedMs, record },
    lineBytes: printed.reduce((sum, text) => sum + text.length + 64, 0),
    isWhole: true,
    withoutLines: () => new TrimmedRun(ended, 0),
    bytes: texts.reduce((sum, text) => sum + text.length, 64 * printed.length),
    isSilent: status === "ok" && printed.length === 0,
    kept: () => ({ record, family, network: null, lineage: [family], startedMs }),
  };
  return ended;
}

function errorOf(changes: Partial<RecordError>): RecordError {
  return {
    ...{ code: "task_threw", name: "Error", message: "it failed", hint: null, stack: "Error: it failed\n    at run" },
    at: { file: "task.js", line: 3, column: 5, frame: "3 | throw new Error()" },
    ...changes,
  };
}
