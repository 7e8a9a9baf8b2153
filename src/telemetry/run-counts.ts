/** What has happened to runs since the service started that no answer tells of. */
export interface RunCounts {
  /** Rejections and throws of runs that had their answer, and work of `waitUntil` that failed or was not over in time. */
  failedUnheard: number;
}

export function runCounts(): RunCounts {
  return { failedUnheard: 0 };
}
