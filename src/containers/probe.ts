import { Problem } from "../errors.ts";
import type { ProbeGuest } from "../sandbox/self-test/probe-guest.ts";
import { codeOf } from "./codes.ts";
import type { Guest, RunListener } from "./guest.ts";

const OVER = new Problem("container_restarted", "the self-test is over");

/** A guest as the self-test uses it: no caller, no body that streams, and the result or the fault as a promise. */
export function probeGuest(guest: Guest): ProbeGuest {
  return {
    process: guest.process,
    run: async (source) => {
      const json = Promise.withResolvers<Buffer>();
      const code = codeOf({ source: Buffer.from(source), typescript: false, modules: null });
      guest.run(code, () => "{}", listenerOf(json), performance.now());
      return JSON.parse((await json.promise).toString()) as unknown;
    },
    end: () => guest.end(OVER),
  };
}

function listenerOf({ resolve, reject }: PromiseWithResolvers<Buffer>): RunListener {
  return { result: resolve, fault: reject, head: ignore, data: ignore, end: ignore, log: ignore };
}

function ignore(): void {}
