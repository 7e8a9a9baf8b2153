import { readdir, readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

/** The states of a thread that is stopped or has ended (proc_pid_stat(5)). */
const STOPPED = /^[TtZX]/;
/**
 * The maximum number of waits for all threads to stop. A thread stops at the end of its system call; a thread that does not
 * return for that long does not move files.
 */
const MOST_TRIES = 50;
const TRY_MS = 2;

/** The members of a child process that the pause needs. */
export interface Pausable {
  readonly pid?: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
}

/** Stops all threads of a child while `work` runs. The child can notice only that time has passed. */
export async function whileStopped<T>(child: Pausable, work: () => Promise<T>): Promise<T> {
  signal(child, "SIGSTOP");
  try {
    for (let tries = 0; tries < MOST_TRIES && !(await areThreadsStopped(child)); tries++) await setTimeout(TRY_MS);
    return await work();
  } finally {
    signal(child, "SIGCONT");
  }
}

async function areThreadsStopped({ pid }: Pausable): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = await Promise.all(
    threads.map(async (thread) => {
      const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, "latin1").catch(() => ") X");
      return stat.slice(stat.lastIndexOf(")") + 2);
    }),
  );
  return states.every((state) => STOPPED.test(state));
}

/** Sends a signal, unless the child has ended: its process id may belong to another process then. */
function signal({ pid, exitCode, signalCode }: Pausable, name: "SIGSTOP" | "SIGCONT"): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(pid, name);
  } catch {
    // The child has just ended.
  }
}
