import { CaissonError } from "../../../client/src/index.ts";
import { wait } from "../../../client/src/retry.ts";
import { say } from "../print/say.ts";

/** A build ends within a minute, and may wait for others before. */
const MOST_MS = 180_000;
/** The wait after an answer that names none. */
const UNNAMED_MS = 2_000;

/**
 * Runs a submission again while its packages are built, and reports that each time. The answers of an earlier attempt are none to the user.
 *
 * @throws {CaissonError} as `attempt`
 */
export async function whileBuilding(attempt: () => Promise<number>, signal: AbortSignal | undefined): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const hasTime = performance.now() - startedMs < MOST_MS;
      if (!(error instanceof CaissonError) || !isBuilding(error) || !hasTime) throw error;
      say(`${error.detail}; this may take a minute, and the run begins when it is done`);
      await wait(error.retryAfterMs ?? UNNAMED_MS, signal);
    }
  }
}

export function isBuilding({ code }: CaissonError): boolean {
  return code === "packages_building";
}
