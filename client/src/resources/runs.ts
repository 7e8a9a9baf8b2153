import type { CancelledRun, Routes, RunPage, RunRecord } from "../api-types.ts";
import { type ContainerEvent, followEvents, type FollowOptions } from "../follow.ts";
import { List } from "../list.ts";
import { nameOthers } from "../other-methods.ts";
import type { ConsoleLine } from "../stream.ts";
import type { RequestOptions, Transport } from "../transport.ts";

export class Runs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists runs, the newest first: without `container` those of all containers of the token. Needs the verb `logs`. */
  list(
    query: Routes["GET /api/runs"]["query"] = {},
    options: RequestOptions = {},
  ): List<RunPage["runs"][number], RunPage> {
    return new List(
      (cursor) => this.#transport.json("GET /api/runs", { query: { ...query, cursor } }, options),
      ({ runs }) => runs,
      query.cursor,
    );
  }

  /** Returns the record of a run. Needs the verb `logs`. */
  get(container: string, run: string, options: RequestOptions = {}): Promise<RunRecord> {
    return this.#transport.json("GET /api/runs/{container}/{run}", { path: { container, run } }, options);
  }

  /** Returns the lines of the console of a run. Needs the verb `logs`. */
  async console(container: string, run: string, options: RequestOptions = {}): Promise<ConsoleLine[]> {
    return (await this.get(container, run, options)).console ?? [];
  }

  /** Cancels a run of the token, or of a token below it. */
  cancel(container: string, run: string, options: RequestOptions = {}): Promise<CancelledRun> {
    return this.#transport.json("DELETE /api/runs/{container}/{run}", { path: { container, run } }, options);
  }

  /**
   * Returns the lines and the ended runs of a container as they come, until the caller stops reading. After a lost connection
   * it connects again and continues. Needs the verb `logs`.
   */
  follow(container: string, options: FollowOptions = {}): AsyncGenerator<ContainerEvent, void, undefined> {
    return followEvents(this.#transport, container, options);
  }

  /** As `follow`, of all containers of the token. With several nodes it returns the events of all nodes. */
  followAll(options: FollowOptions = {}): AsyncGenerator<ContainerEvent, void, undefined> {
    return followEvents(this.#transport, null, options);
  }
}

nameOthers(Runs.prototype, {
  "create start run": 'write caisson.run("acme", "return 1"), or caisson.record(...)',
  "logs log": 'write console("acme", run)',
  "delete stop kill": 'write cancel("acme", run)',
});
