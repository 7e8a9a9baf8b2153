import { codeOf } from "../containers/guest/code-table.ts";
import { collectStream } from "../containers/guest/collect-stream.ts";
import type { GuestLimits } from "../containers/guest/guest-limits.ts";
import { Guest } from "../containers/guest/guest.ts";
import type { Egress } from "../egress/egress.ts";
import { Problem } from "../errors.ts";
import type { GuestProcess } from "../sandbox/sandbox.ts";
import type { RunContext } from "../wire/messages.ts";

/**
 * The longest frame of a result. The program streams its answer and has no result, but an idle guest runs examples to warm up, which
 * have results of a few bytes.
 */
const RESULT_BYTES = 1_024;
/** The time between two refills of the guest's frame budget, which the watchdog does for other guests. */
const TICK_MS = 25;
const OVER = new Problem("container_restarted", "the build is over");

/**
 * Runs the program of builders in a guest, and ends the guest.
 *
 * @param order becomes `context.body`.
 * @param maxBytes the most bytes of the answer.
 * @returns the bytes that the program streams. They are hostile.
 * @throws {Problem} if the program ends without an answer, or the signal aborts.
 */
export async function answerOf(
  process: GuestProcess,
  egress: Egress,
  program: Buffer,
  order: unknown,
  { maxBytes, deadlineMs }: { readonly maxBytes: number; readonly deadlineMs: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const limits: GuestLimits = { wallMs: deadlineMs, streamMs: deadlineMs, resultBytes: RESULT_BYTES, logs: NO_LOGS };
  const guest = new Guest(process, limits, egress);
  const ticks = setInterval(() => guest.tick(1), TICK_MS).unref();
  const answer = Promise.withResolvers<Buffer>();
  // Awaited below; the guest may end before.
  answer.promise.catch(() => {});
  const abort = (): void => answer.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([guest.ready(), answer.promise]);
    // Runs that wait for nothing come first.
    guest.setPriority("normal");
    const code = codeOf({ source: program, typescript: false, modules: null });
    const listener = collectStream(answer, {
      maxBytes,
      grant: (bytes) => guest.inFlight.grant(id, bytes),
      fault: (lack) =>
        new Problem("packages_failed", `the builder returned ${lack === "too much" ? lack : "no answer"}`),
    });
    const context: RunContext = { ...CONTEXT, body: order };
    const id = guest.run(code, () => JSON.stringify(context), listener, performance.now());
    return await answer.promise;
  } finally {
    signal.removeEventListener("abort", abort);
    clearInterval(ticks);
    guest.end(OVER);
  }
}

const CONTEXT = { runId: "build", container: "builder", method: "POST", url: "http://builder/", headers: {} };
/** The service does not read the log of a builder. */
const NO_LOGS = { bytes: 65_536, linesPerSecond: 100 };
