import { readdir, readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

/** Stopped, or at its end (proc_pid_stat(5)). */
const STILL = /^[TtZX]/;
/** A thread in the middle of a call stops after it. One that does not return for so long moves no files, either. */
const MOST_TRIES = 50;
const TRY_MS = 2;

/** What a child process shows of itself. */
export interface Pausable {
  readonly pid?: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
}

/** Stops all threads of a child for as long as something is done. It takes no notice, but for the time. */
export async function whileStopped<T>(child: Pausable, work: () => Promise<T>): Promise<T> {
  signal(child, "SIGSTOP");
  try {
    for (let tries = 0; tries < MOST_TRIES && !(await isStill(child)); tries++) await setTimeout(TRY_MS);
    return await work();
  } finally {
    signal(child, "SIGCONT");
  }
}

async function isStill({ pid }: Pausable): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = await Promise.all(
    threads.map(async (thread) => {
      const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, "latin1").catch(() => ") X");
      return stat.slice(stat.lastIndexOf(")") + 2);
    }),
  );
  return states.every((state) => STILL.test(state));
}

/** Not once it has ended: its number may be another's by then. */
function signal({ pid, exitCode, signalCode }: Pausable, name: "SIGSTOP" | "SIGCONT"): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(pid, name);
  } catch {
    // It has just ended.
  }
}
