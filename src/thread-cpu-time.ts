/**
 * Returns the processor time of the calling thread in milliseconds. The kernel adds the time since the last tick only when the time of
 * the process is read. Otherwise work that is shorter than a tick would take no time.
 */
export function threadCpuMs(): number {
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
