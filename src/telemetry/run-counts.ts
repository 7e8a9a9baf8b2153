/** The failures of runs since the service started that are not in an answer. */
export interface RunCounts {
  /** Rejections and throws of runs after their answer, and work of `waitUntil` that failed or exceeded its time. */
  failedUnheard: number;
}

export function runCounts(): RunCounts {
  return { failedUnheard: 0 };
}
