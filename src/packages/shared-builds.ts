import type { Artefacts } from "./artefacts.ts";
import type { BuildQueue } from "./build-queue.ts";
import { requireOrdered } from "./check-built.ts";
import { FailedBuilds } from "./failed-builds.ts";
import type { Artefact, Lock, PackageSet } from "./model.ts";

/** The token that packages are built for. */
export interface Asker {
  readonly family: string;
  /** Null for an administrator. */
  readonly quotaFamily: string | null;
  readonly jti: string;
  /** The token itself, so that its revocation can end its builds. */
  readonly caller?: object;
}

/** A lock with its artefact. */
export interface Prepared {
  readonly lock: Lock;
  readonly artefact: Artefact;
}

/** The builds that run: a family that needs the same set again waits for the same build. */
export class SharedBuilds {
  readonly #queue: BuildQueue;
  readonly #artefacts: Artefacts;
  readonly #minAgeMs: number;
  readonly #nowMs: () => number;
  readonly #builds = new Map<string, Promise<Prepared>>();
  readonly #failures: FailedBuilds;

  constructor(queue: BuildQueue, artefacts: Artefacts, minAgeMs: number, nowMs: () => number) {
    this.#queue = queue;
    this.#artefacts = artefacts;
    this.#minAgeMs = minAgeMs;
    this.#nowMs = nowMs;
    this.#failures = new FailedBuilds(nowMs);
  }

  /**
   * Begins a build, or joins the same build of the family.
   *
   * @param from the lock before, whose versions stay
   * @param update the packages whose versions do not stay
   * @throws {Problem} as `Builder.build`, also for a build that has failed lately
   */
  async build(set: PackageSet, from: Lock | null, update: readonly string[], by: Asker): Promise<Prepared> {
    const name = JSON.stringify([by.family, set.ranges, set.entries, from?.key ?? null, update]);
    this.#failures.throwIfFailed(name);
    let build = this.#builds.get(name);
    if (!build) {
      build = this.#make(set, from, update, by)
        .catch((error: unknown) => {
          this.#failures.note(name, error);
          throw error;
        })
        .finally(() => this.#builds.delete(name));
      this.#builds.set(name, build);
    }
    return await build;
  }

  async #make(set: PackageSet, from: Lock | null, update: readonly string[], by: Asker): Promise<Prepared> {
    const minAgeMs = this.#minAgeMs;
    const order = { set, from, update, minAgeMs, holder: by.family, requestedBy: by.jti, caller: by.caller };
    const built = await this.#queue.build(order);
    requireOrdered(built, order);
    const lock: Lock = { ...built.lock, requestedBy: by.jti, at: this.#nowMs() };
    const known = await this.#artefacts.get(lock.key);
    // The artefact of a key is decided by the key, so the first one stays.
    const artefact = known ?? (await this.#artefacts.add({ lock, artefact: built.artefact }, by.quotaFamily));
    return { lock, artefact };
  }
}
