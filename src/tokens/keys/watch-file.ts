import { stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

/** The interval between checks in milliseconds, too short for an operator to notice. */
const CHECK_MS = 500;

/**
 * Reads a file again after each change, until it is stopped.
 *
 * The watcher polls the file, so that no process needs to send a signal. A signal would need the process id and the right to send
 * it, which a command in another container or on another node lacks; a closing terminal also sends SIGHUP. File notifications of
 * the kernel are missing if the file is on a network file system, or is itself a mount.
 *
 * @param read throws when the file cannot be used. Then the previous content stays in force, and each check reads the file again:
 * the cause may lie elsewhere, such as exhausted descriptors, and end without a change of the file.
 * @param onFailure called with that error, once for each state of the file
 */
export function watchFile(
  file: string,
  read: () => Promise<void>,
  onFailure: (error: Error) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal: stopped } = stopping;
  let readState: string | null = null;
  let failedState: string | null = null;
  let reportedState: string | null = null;
  const check = async (): Promise<void> => {
    const state = await fileState(file);
    if (state === readState) return;
    try {
      await read();
      readState = state;
    } catch (error) {
      // A process that does not replace the file as a whole may be writing it now. The next check reports a lasting failure.
      if (failedState === state && reportedState !== state) onFailure(error as Error);
      if (failedState === state) reportedState = state;
      failedState = state;
    }
  };
  const checking = (async () => {
    while (!stopped.aborted) {
      await pause(CHECK_MS, undefined, { ref: false, signal: stopped }).catch(() => {});
      if (!stopped.aborted) await check();
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await checking;
    },
  };
}

/** Returns a text that differs after each change of the file. */
async function fileState(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
