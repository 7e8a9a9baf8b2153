import type { TokenStore } from "../store.ts";
import type { KeyRing } from "./key-ring.ts";
import { endedKeys } from "./retire-keys.ts";
import { watchFile } from "./watch-file.ts";

/** What a service hears of its keys while it runs. */
export interface KeyNews {
  /** What the file had changed is in force. */
  changed(): void;
  /** Puts right what hangs on the keys, after a change. What it throws is told, and it is called again until it is done. */
  settle(): Promise<void>;
  /** The file cannot be read again; what was read before stays in force. */
  failed(error: Error): void;
  /** What `settle` has thrown. */
  unsettled(error: Error): void;
}

/** How often it is looked for keys that have ended, in milliseconds. */
const ENDS_MS = 3_600_000;

/**
 * Lets the keys follow their file, and lets those go that nothing valid is signed with any more.
 *
 * @param register null when it does not know all that the keys have signed: then none ends by itself.
 */
export function keepKeys(
  ring: KeyRing,
  register: TokenStore | null,
  news: KeyNews,
  nowMs: () => number,
): { stop(): Promise<void> } {
  const end = async (): Promise<void> => {
    if (!register) return;
    try {
      ring.end(await endedKeys(ring, register, nowMs()));
    } catch {
      // A register that does not answer changes nothing. It is asked again.
    }
  };
  let [isRead, isSettled] = [true, true];
  const read = async (): Promise<void> => {
    const before = JSON.stringify(ring.jwks());
    isRead = false;
    await ring.reload();
    isRead = true;
    await end();
    if (JSON.stringify(ring.jwks()) !== before) {
      isSettled = false;
      news.changed();
    }
    if (!isSettled) await news.settle();
    isSettled = true;
  };
  const watch = watchFile(ring.file, read, (error) => (isRead ? news.unsettled(error) : news.failed(error)));
  const timer = setInterval(() => void end(), ENDS_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await watch.stop();
    },
  };
}
