import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  readonly token: string;
  /** Whether every request has new code. */
  readonly newCode?: boolean;
  /** The code to run; by default some typical code without output. */
  readonly code?: string;
  /** The number of containers that the requests are spread over. */
  readonly containers?: number;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly requests: number;
}

/** About 200 bytes of typical code. */
const CODE = `// Six of the one and half a dozen of the other: a small function as a customer would paste it.
const price = 6;
const pieces = 7;
const total = price * pieces;
if (total < 0) throw new Error("no");
return total;`;

/** Loads a server with wrk, which uses almost one processor. The server has the other. */
export async function load(
  url: string,
  { connections, seconds, token, newCode, code = CODE, containers = 1 }: Load,
): Promise<LoadResult> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-load-"));
  try {
    const script = path.join(folder, "post.lua");
    await writeFile(script, lua(token, code, newCode ?? false, containers));
    const words = ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", "-s", script, url];
    const { stdout } = await promisify(execFile)("wrk", words);
    return parse(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function lua(token: string, code: string, newCode: boolean, containers: number): string {
  const body = newCode ? `[[${code} //]] .. math.random(1, 2^52)` : `[[${code}]]`;
  return `
math.randomseed(os.time())
local turn = 0
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer ${token}"
request = function()
  turn = turn + 1
  return wrk.format(nil, "/api/run/bench" .. turn % ${containers}, nil, ${body})
end
`;
}

function parse(report: string): LoadResult {
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(report);
  if (failed) throw new Error(`${failed[1]} requests did not receive 200`);
  const [, value, unit] = /50%\s+([\d.]+)(us|ms|s)/.exec(report)!;
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(report)![1]),
    requests: Number(/(\d+) requests in/.exec(report)![1]),
    p50Ms: Number(value) * { us: 0.001, ms: 1, s: 1_000 }[unit as "us" | "ms" | "s"],
  };
}
