import { createHash } from "node:crypto";

import { Problem } from "../errors.ts";

interface Failure {
  readonly problem: Problem;
  readonly untilMs: number;
}

/** How long a failed build is not tried again. */
const FAILED_MS = 30_000;
/** The same, if the registry did not answer, or the disk was full. */
const UNAVAILABLE_MS = 5_000;
/** The most failures in memory: each build has one place in the queue, so there are few. */
const MAX_FAILURES = 1_000;

/** The builds that have failed a short time ago. Otherwise each run would try them again. */
export class FailedBuilds {
  readonly #failures = new Map<string, Failure>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** @throws {Problem} the failure of the build with this name, if it is recent */
  throwIfFailed(name: string): void {
    const key = keyOf(name);
    const failure = this.#failures.get(key);
    if (failure && failure.untilMs > this.#nowMs()) throw failure.problem;
    this.#failures.delete(key);
  }

  note(name: string, error: unknown): void {
    if (!(error instanceof Problem) || !isNoted(error.code)) return;
    const oldest = this.#failures.keys().next();
    if (this.#failures.size >= MAX_FAILURES && !oldest.done) this.#failures.delete(oldest.value);
    const isShort = error.code === "packages_unavailable" || error.code === "store_unavailable";
    const forMs = isShort ? UNAVAILABLE_MS : FAILED_MS;
    this.#failures.set(keyOf(name), { problem: error, untilMs: this.#nowMs() + forMs });
  }
}

/** Whether the same build would fail again. */
function isNoted(code: string): boolean {
  return code === "store_unavailable" || (code.startsWith("packages_") && code !== "packages_building");
}

/** Returns a short key: a name may have 190 KB. */
function keyOf(name: string): string {
  return createHash("sha256").update(name).digest("base64");
}
