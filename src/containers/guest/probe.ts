import { Problem } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { MakeProbeGuest, ProbeGuest } from "../../sandbox/self-test/probe-guest.ts";
import { codeOf } from "./code-table.ts";
import type { RunListener } from "./guest-run.ts";
import { Guest } from "./guest.ts";

const OVER = new Problem("container_restarted", "the self-test is over");
/** Tests that exhaust a resource take long on a busy machine. */
const WALL_MS = 30_000;
/** The self-test does not read the log. */
const LOGS = { bytes: 65_536, linesPerSecond: 100 };

/** Returns a function that starts guests for the self-test. A run has no client, and returns its result as a promise. */
export function probeGuests(sandbox: Sandbox, resultBytes: number): MakeProbeGuest {
  return async () => {
    const limits = { wallMs: WALL_MS, streamMs: WALL_MS, resultBytes, logs: LOGS };
    return probeGuest(await new Guest(await sandbox.launch(), limits).ready());
  };
}

function probeGuest(guest: Guest): ProbeGuest {
  return {
    process: guest.process,
    run: async (source) => {
      // A stream is not cut by --result-limit.
      const text = `return new Response(JSON.stringify(await (async () => { ${source} })()))`;
      const code = codeOf({ source: Buffer.from(text), typescript: false, modules: null });
      const body = Promise.withResolvers<Buffer>();
      guest.run(code, () => "{}", listenerOf(body), performance.now());
      return JSON.parse((await body.promise).toString()) as unknown;
    },
    end: () => guest.end(OVER),
  };
}

function listenerOf({ resolve, reject }: PromiseWithResolvers<Buffer>): RunListener {
  const pieces: Buffer[] = [];
  return {
    head: ignore,
    data: (piece) => pieces.push(piece),
    end: () => resolve(Buffer.concat(pieces)),
    result: () => reject(new Error("the self-test received a result instead of a stream")),
    fault: reject,
    over: ignore,
    refused: ignore,
    usesEgress: ignore,
    logSink: { log: ignore, lateError: ignore },
  };
}

function ignore(): void {}
