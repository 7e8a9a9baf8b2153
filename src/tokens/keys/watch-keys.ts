import type { TokenStore } from "../store.ts";
import type { KeyRing } from "./key-ring.ts";
import { endedKeys } from "./retire-keys.ts";
import { watchFile } from "./watch-file.ts";

/** The events of the keys while a service runs. */
export interface KeyEvents {
  /** The keys have changed with their file and are in force. */
  changed(): void;
  /** Updates what depends on the keys, after a change. An error is reported, and the call is repeated until it succeeds. */
  settle(): Promise<void>;
  /** The file cannot be read again; the previous keys stay in force. */
  failed(error: Error): void;
  /** `settle` has thrown this error. */
  unsettled(error: Error): void;
}

/** The interval between searches for ended keys, in milliseconds. */
const RETIRE_MS = 3_600_000;

/**
 * Makes the keys follow their file, and stops holding keys without valid tokens.
 *
 * @param store null if it does not have all tokens that the keys have signed: then no key is retired automatically
 */
export function watchKeys(
  ring: KeyRing,
  store: TokenStore | null,
  events: KeyEvents,
  nowMs: () => number,
): { stop(): Promise<void> } {
  const retire = async (): Promise<void> => {
    if (!store) return;
    try {
      ring.end(await endedKeys(ring, store, nowMs()));
    } catch {
      // A store that does not answer changes nothing. The next interval tries again.
    }
  };
  let [isRead, isSettled] = [true, true];
  const read = async (): Promise<void> => {
    const before = JSON.stringify(ring.jwks());
    isRead = false;
    await ring.reload();
    isRead = true;
    await retire();
    if (JSON.stringify(ring.jwks()) !== before) {
      isSettled = false;
      events.changed();
    }
    if (!isSettled) await events.settle();
    isSettled = true;
  };
  const watch = watchFile(ring.file, read, (error) => (isRead ? events.unsettled(error) : events.failed(error)));
  const timer = setInterval(() => void retire(), RETIRE_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await watch.stop();
    },
  };
}
