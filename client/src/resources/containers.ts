import type { ContainerPage, Policy, PolicyPatch, PolicyRequest, RestartedContainer, Routes } from "../api-types.ts";
import { List } from "../list.ts";
import { mustBeObject, mustBeOptions } from "../options.ts";
import { nameOthers } from "../other-methods.ts";
import type { RequestOptions, Transport } from "../transport.ts";

const POLICY = "{ limits: { minute: 60 } }";

interface NowOptions extends RequestOptions {
  /** Ends the runs in flight, too. */
  readonly now?: boolean | undefined;
}

export class Containers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the containers that have a policy, counted runs or a guest. Needs the verb `issue`. */
  list(
    query: Routes["GET /api/containers"]["query"] = {},
    options: RequestOptions = {},
  ): List<ContainerPage["containers"][number], ContainerPage> {
    return new List(
      (cursor) => this.#transport.json("GET /api/containers", { query: { ...query, cursor } }, options),
      ({ containers }) => containers,
      query.cursor,
    );
  }

  /** Returns limits, labels, description and suspension. This and all below except `restart` are for administrators. */
  get(container: string, options: RequestOptions = {}): Promise<Policy> {
    return this.#transport.json("GET /api/containers/{container}", { path: { container } }, options);
  }

  /** Replaces all limits of a container. Labels and description stay. */
  set(container: string, policy: PolicyRequest, options: RequestOptions = {}): Promise<Policy> {
    return this.#transport.json(
      "PUT /api/containers/{container}",
      { path: { container }, json: mustBeObject(policy, POLICY) },
      options,
    );
  }

  /** Changes limits, labels and description. A member that is left out stays, and `null` removes. */
  update(container: string, patch: PolicyPatch, options: RequestOptions = {}): Promise<Policy> {
    return this.#transport.json(
      "PATCH /api/containers/{container}",
      { path: { container }, json: mustBeObject(patch, POLICY) },
      options,
    );
  }

  /** Removes limits, labels and description. A suspension stays. */
  reset(container: string, options: RequestOptions = {}): Promise<Policy> {
    return this.#transport.json("DELETE /api/containers/{container}", { path: { container } }, options);
  }

  /** Refuses runs from now on. `now: true` ends the runs in flight, too. */
  suspend(container: string, options: NowOptions = {}): Promise<Policy> {
    const parameters = { path: { container }, query: { now: nowOf(options, "suspend") } };
    return this.#transport.json("POST /api/containers/{container}/suspend", parameters, options);
  }

  /** Admits runs again. */
  resume(container: string, options: RequestOptions = {}): Promise<Policy> {
    return this.#transport.json("POST /api/containers/{container}/resume", { path: { container } }, options);
  }

  /** Replaces the guests. `now: true` ends the runs in flight. Needs the verb `tasks`. */
  restart(container: string, options: NowOptions = {}): Promise<RestartedContainer> {
    const parameters = { path: { container }, query: { now: nowOf(options, "restart") } };
    return this.#transport.json("POST /api/containers/{container}/restart", parameters, options);
  }
}

/** @throws {TypeError} for an option of another name: the caller believes that the runs in flight end */
function nowOf(options: NowOptions, method: string): boolean | undefined {
  mustBeOptions(options, "now signal retry", `${method}("acme", { now: true })`);
  return options.now;
}

nameOthers(Containers.prototype, {
  "create add": "a container needs no creation: the first run makes it",
  "delete remove": 'write reset("acme"), which removes its limits, labels and description',
});
