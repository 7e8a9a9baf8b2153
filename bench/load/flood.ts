import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

export interface Flood {
  readonly port: number;
  readonly token: string;
  readonly connections: number;
  readonly seconds: number;
  readonly container: string;
  /** The number of client addresses, from 127.0.0.2 on. */
  readonly addresses: number;
  readonly body: string;
}

/** The answers of one status, with the times from each request to its answer. */
export interface AnswerTimes {
  readonly status: number;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

export interface FloodResult {
  readonly answers: readonly AnswerTimes[];
  /** Requests whose connection was closed without an answer. */
  readonly lost: number;
  /** Requests without an answer at the end. */
  readonly unanswered: number;
}

/** Floods a service from many connections, and measures the times by status, which wrk does not. A separate process does it. */
export async function flood(options: Flood): Promise<FloodResult> {
  const program = path.join(import.meta.dirname, "flood-process.ts");
  const words = ["--disable-warning=ExperimentalWarning", program, JSON.stringify(options)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout) as FloodResult;
}
