import { execFile, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { type Code, CODES, textOf } from "./codes.ts";

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  readonly token: string;
  /** The code to run; by default some typical code without output. */
  readonly code?: Code | string;
  /** How many requests there are for each request with a new text: 1 if every text is new; by default no text is new. */
  readonly newEvery?: number;
  /** The path of each request, to which the number of the container is added. */
  readonly prefix?: string;
  /** The number of containers that the requests are spread over. */
  readonly containers?: number;
  /** Whether answers other than 200 are allowed. They are counted in `failed`. */
  readonly mayFail?: boolean;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly requests: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** Requests without an answer, and answers other than 200. */
  readonly failed: number;
}

/** What the script prints at the end. Times are in microseconds. */
interface Report {
  readonly requests: number;
  readonly duration: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly longest: number;
  readonly failed: number;
}

/** Longer than any wait that a row measures. wrk does not count longer ones as times. */
const TIMEOUT_S = 20;
/** The maximum number of texts in one load. The numbers of two loads must not overlap, or a text would not be new. */
const MOST_TEXTS = 1e9;
/** The largest multiple of `MOST_TEXTS` for which the numbers are exact in a double. */
const MOST_LOADS = 9e6;

/** Loads a server with wrk, which uses almost one processor. The server has the others. */
export async function load(url: string, options: Load): Promise<LoadResult> {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-load-"));
  const script = path.join(folder.path, "post.lua");
  await writeFile(script, lua(options));
  const { connections, seconds, mayFail = false } = options;
  const words = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", `${TIMEOUT_S}s`, "-s", script, url];
  const { stdout } = await promisify(execFile)("wrk", words);
  const result = parse(stdout);
  if (result.failed > 0 && !mayFail) {
    throw new Error(`${result.failed} of ${result.requests} requests did not receive 200`);
  }
  if (result.requests === 0) throw new Error(`no request was answered in ${seconds} s`);
  return result;
}

/** @throws {Error} if wrk is not installed. */
export function requireWrk(): void {
  if (spawnSync("wrk", ["-v"]).error) {
    throw new Error("wrk is missing: install the package wrk, on Debian and Ubuntu with: sudo apt-get install -y wrk");
  }
}

function lua({ token, code = CODES.body, newEvery = 0, prefix = "/api/run/bench", containers = 1 }: Load): string {
  const { before, after } = typeof code === "string" ? { before: code, after: "" } : code;
  const same = typeof code === "string" ? code : textOf(code);
  return `
local before, after, same = ${literal(before)}, ${literal(after)}, ${literal(same)}
local base, every, containers = ${randomInt(1, MOST_LOADS) * MOST_TEXTS}, ${newEvery}, ${containers}
local turn = 0
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer ${token}"
request = function()
  turn = turn + 1
  local body = same
  if every > 0 and turn % every == 0 then body = before .. string.format("%.0f", base + turn) .. after end
  return wrk.format(nil, "${prefix}" .. turn % containers, nil, body)
end
done = function(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('REPORT {"requests":%d,"duration":%d,"p50":%.0f,"p95":%.0f,"p99":%.0f,"longest":%.0f,"failed":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max, failed))
end
`;
}

/** Returns a text as Lua writes it. Lua ignores the first line break of a long text. */
function literal(text: string): string {
  return `[==[\n${text}]==]`;
}

function parse(output: string): LoadResult {
  const line = /^REPORT (.*)$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk has printed no report: ${output}`);
  const report = JSON.parse(line) as Report;
  return {
    requestsPerSecond: (1e6 * report.requests) / report.duration,
    requests: report.requests,
    p50Ms: report.p50 / 1_000,
    p95Ms: report.p95 / 1_000,
    p99Ms: report.p99 / 1_000,
    longestMs: report.longest / 1_000,
    failed: report.failed,
  };
}
