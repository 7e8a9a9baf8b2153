import { Problem } from "../errors.ts";
import { formatDuration } from "../units.ts";
import type { Container, GuestSlot } from "./guest-slot.ts";

/** Most runs end within milliseconds, but the service cannot predict when the next run ends. */
const BUSY_RETRY_MS = 1_000;
export const BUSY: { readonly retryAfterMs: number } = { retryAfterMs: BUSY_RETRY_MS };

/** The refusal of a new container. @param reason why there is no room for it */
export function noRoom(reason: string): Problem {
  return new Problem("overloaded", `${reason}, so no new container can be started`, BUSY);
}

/** The refusal of a run in a container whose runs are at their limit. */
export function concurrencyProblem({ name, taken }: Container): Problem {
  return new Problem("container_busy", `container "${name}" has ${taken} runs in flight, which is its limit`, BUSY);
}

/** Refuses a run of a caller that leaves many runs behind in a guest that others use. @throws {Problem} `container_busy` with the wait */
export function refuseLeaver(slot: GuestSlot, caller: string, nowMs: number): void {
  const retryAfterMs = Math.ceil(slot.leaverWaitMs(caller, nowMs));
  if (retryAfterMs <= 0) return;
  const { name } = slot.container;
  throw new Problem("container_busy", `you have left many runs in container "${name}" before their code had ended`, {
    retryAfterMs,
    hint: "Other callers use the same guest. Wait for the answers of your runs, or give them longer timeouts.",
  });
}

/** Refuses a run in a slot whose guests end again and again. @throws {Problem} `container_busy` with the wait */
export function refuseCrashLoop(slot: GuestSlot, nowMs: number): void {
  const retryAfterMs = Math.ceil(slot.backOffMs(nowMs));
  if (retryAfterMs <= 0) return;
  const { name } = slot.container;
  const wait = formatDuration(retryAfterMs);
  throw new Problem("container_busy", `container "${name}" ended again and again; it may start again in ${wait}`, {
    retryAfterMs,
    hint: "Its tasks end their process, block it or exhaust its memory. The responses to these runs give the cause.",
  });
}
