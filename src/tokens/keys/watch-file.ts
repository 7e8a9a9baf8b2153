import { stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

/** Below what anybody notices. */
const LOOK_MS = 500;

/**
 * Reads a file again when it has changed, until it is stopped.
 *
 * It is looked at, and nobody has to say so: a signal would need the number of the process and the right to send it, which
 * a command in another container or on another node has not, and SIGHUP is also what a terminal says when it is closed.
 * What the kernel tells of changes stays silent where the file comes over a network, or is a mount of its own.
 *
 * @param read throws when the file cannot be used; then what was read before stays in force, and it is read at each look:
 * the fault may lie elsewhere, such as in descriptors that have run out, and go away without a change of the file.
 * @param failed told of that, once for each state of the file.
 */
export function watchFile(
  file: string,
  read: () => Promise<void>,
  failed: (error: Error) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal: stopped } = stopping;
  let seen: string | null = null;
  let faulty: string | null = null;
  let told: string | null = null;
  const look = async (): Promise<void> => {
    const state = await fileState(file);
    if (state === seen) return;
    try {
      await read();
      seen = state;
    } catch (error) {
      // Whoever does not replace it whole is writing it now: what it comes to is said at the next look.
      if (faulty === state && told !== state) failed(error as Error);
      if (faulty === state) told = state;
      faulty = state;
    }
  };
  const looking = (async () => {
    while (!stopped.aborted) {
      await pause(LOOK_MS, undefined, { ref: false, signal: stopped }).catch(() => {});
      if (!stopped.aborted) await look();
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await looking;
    },
  };
}

/** Text that differs when the file has changed. */
async function fileState(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
