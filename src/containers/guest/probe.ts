import { Problem } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { MakeProbeGuest, ProbeGuest } from "../../sandbox/self-test/probe-guest.ts";
import { codeOf } from "./code-table.ts";
import { collectStream } from "./collect-stream.ts";
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
      const listener = collectStream(body, {
        maxBytes: Infinity,
        grant: (bytes) => guest.inFlight.grant(id, bytes),
        fault: (lack) => new Error(`the self-test received ${lack}`),
      });
      const id = guest.run(code, () => "{}", listener, performance.now());
      return JSON.parse((await body.promise).toString()) as unknown;
    },
    end: () => guest.end(OVER),
  };
}
