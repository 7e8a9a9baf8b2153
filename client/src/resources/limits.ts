import type { LimitState } from "../api-types.ts";
import { nameOthers } from "../other-methods.ts";
import type { RequestOptions, Transport } from "../transport.ts";

/** The runs left in each window: 0 for a window without a limit, -1 if no run is left. */
type Left = Extract<LimitState, { second: number }>;
/** Limit, use and origin of each window. */
type Detail = Exclude<LimitState, Left>;

interface Brief extends RequestOptions {
  readonly detail?: false | undefined;
}

interface Detailed extends RequestOptions {
  /** Returns limit, use and origin of each window, and not only the runs left. */
  readonly detail: true;
}

export class Limits {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns what is left of the limits of a container. Needs the verb `limits`. */
  getContainer(container: string, options: Detailed): Promise<Detail>;
  getContainer(container: string, options?: Brief): Promise<Left>;
  getContainer(container: string, { detail, ...options }: Brief | Detailed = {}): Promise<LimitState> {
    const parameters = { path: { container }, query: { detail } };
    return this.#transport.json("GET /api/limits/container/{container}", parameters, options);
  }

  /** Returns what is left of the limits of a token. Needs the verb `limits`. */
  getToken(jti: string, options: Detailed): Promise<Detail>;
  getToken(jti: string, options?: Brief): Promise<Left>;
  getToken(jti: string, { detail, ...options }: Brief | Detailed = {}): Promise<LimitState> {
    const parameters = { path: { jti }, query: { detail } };
    return this.#transport.json("GET /api/limits/token/{jti}", parameters, options);
  }

  /** Sets the counts of a container to zero. For administrators. */
  async resetContainer(container: string, options: RequestOptions = {}): Promise<Left> {
    const parameters = { path: { container } };
    return (await this.#transport.json("DELETE /api/limits/container/{container}", parameters, options)) as Left;
  }

  /** Sets the counts of a token to zero. For administrators. */
  async resetToken(jti: string, options: RequestOptions = {}): Promise<Left> {
    return (await this.#transport.json("DELETE /api/limits/token/{jti}", { path: { jti } }, options)) as Left;
  }
}

nameOthers(Limits.prototype, {
  "set put update setContainer": 'write caisson.containers.set("acme", { limits: { minute: 60 } })',
  "get show": 'write getContainer("acme"), or getToken(jti)',
  setToken: "the limits of a token are set when it is issued: caisson.tokens.issue({ containers, limits })",
});
