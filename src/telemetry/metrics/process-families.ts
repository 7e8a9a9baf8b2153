import { counter, type Family, gauge } from "./family.ts";

/** Returns the metrics of the service's process, without its guests. */
export function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return [
    counter(
      "caisson_process_cpu_seconds_total",
      "Processor time of the process of the service, without its guests.",
      (user + system) / 1e6,
    ),
    gauge(
      "caisson_process_resident_memory_bytes",
      "Resident memory of the process of the service, without its guests.",
      rss,
    ),
    gauge("caisson_process_heap_bytes", "JavaScript heap that the service uses.", heapUsed),
    gauge(
      "caisson_process_start_time_seconds",
      "Start of the process of the service, in Unix seconds.",
      Math.round(performance.timeOrigin) / 1_000,
    ),
  ];
}
