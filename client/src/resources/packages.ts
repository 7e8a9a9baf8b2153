import type {
  Building,
  BuiltPackages,
  Packages as PackageList,
  PermittedPackages,
  RemovedPackages,
} from "../api-types.ts";
import { CaissonError } from "../error.ts";
import { wait } from "../retry.ts";
import type { RequestOptions, Transport } from "../transport.ts";

export interface WarmOptions extends RequestOptions {
  /** What the code imports, such as `["zod/mini"]`; by default the packages themselves. */
  readonly entries?: readonly string[] | undefined;
}

/** The time between two questions for a build. */
const POLL_MS = 1_000;

/** What code may import from npm, and what is built of it. */
export class Packages {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the packages that code may import, the sets that are built, and the builds under way. */
  list(options: RequestOptions = {}): Promise<PackageList> {
    return this.#transport.json("GET /api/packages", {}, options);
  }

  /** Builds packages before the first run that imports them, and waits for the build. Needs the verb `run`. */
  async warm(
    packages: Readonly<Record<string, string>>,
    { entries, ...options }: WarmOptions = {},
  ): Promise<BuiltPackages> {
    const json = { packages: { ...packages }, ...(entries && { entries: [...entries] }) };
    for (;;) {
      try {
        const answer: BuiltPackages | Building = await this.#transport.json(
          "POST /api/packages/warm",
          { json },
          options,
        );
        if ("lock" in answer) return answer;
        await wait(POLL_MS, options.signal);
      } catch (error) {
        // The token family has as many builds under way as it may have, or the build was ended.
        if (!(error instanceof CaissonError) || error.code !== "packages_building") throw error;
        await wait(error.retryAfterMs ?? POLL_MS, options.signal);
      }
    }
  }

  /** Returns a lock by its key, which the record of a run has. */
  lock(key: string, options: RequestOptions = {}): Promise<BuiltPackages> {
    return this.#transport.json("GET /api/packages/locks/{key}", { path: { key } }, options);
  }

  /** Removes a set that is built, as an administrator. A run that needs it builds it again. */
  remove(key: string, options: RequestOptions = {}): Promise<RemovedPackages> {
    return this.#transport.json("DELETE /api/packages/locks/{key}", { path: { key } }, options);
  }

  /** Adds a package to those that code may import, such as `zod`, `lodash@4` or `@acme/*`, as an administrator. */
  allow(entry: string, options: RequestOptions = {}): Promise<PermittedPackages> {
    return this.#transport.json("PUT /api/packages/allow/{package}", { path: { package: entry } }, options);
  }

  /** Removes a package from those that code may import, as an administrator. */
  disallow(entry: string, options: RequestOptions = {}): Promise<PermittedPackages> {
    return this.#transport.json("DELETE /api/packages/allow/{package}", { path: { package: entry } }, options);
  }
}
