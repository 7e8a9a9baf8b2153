/**
 * Adds up the processor time of this thread between `start` and `stop`. A clock would count what other processes take in
 * between, so that a guest that keeps the processors busy could make any work look expensive.
 */
export class ThreadTime {
  totalMs = 0;
  #since: NodeJS.CpuUsage | null = null;

  start(): void {
    this.#since = process.threadCpuUsage();
  }

  stop(): void {
    if (!this.#since) return;
    const { user, system } = process.threadCpuUsage(this.#since);
    this.#since = null;
    this.totalMs += (user + system) / 1_000;
  }
}
