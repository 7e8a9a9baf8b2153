import type { IncomingMessage } from "node:http";

import { Problem } from "../errors.ts";
import { Throttle } from "../limits/throttle.ts";
import type { Limits } from "../limits/windows.ts";
import type { Log } from "../telemetry/log.ts";
import type { Caller } from "../tokens/caller.ts";
import type { Verifier } from "../tokens/verify.ts";
import { clientNetwork } from "./address.ts";
import type { Proxies } from "./proxies.ts";

/** Addresses held at once. Each takes some hundred bytes, and a few thousand while it is at its limit. */
const MAX_ADDRESSES = 65_536;

/**
 * Checks tokens for strangers, each so many by address: a signature costs more than all else that can be asked for
 * without a token. One that was checked lately costs nothing, and is never refused for what its address has sent.
 */
export class Authenticator {
  readonly #verifier: Verifier;
  readonly #proxies: Proxies;
  readonly #throttle: Throttle;
  readonly #log: Log;

  /** @param limits checks of an address */
  constructor(verifier: Verifier, proxies: Proxies, limits: Limits, log: Log) {
    this.#verifier = verifier;
    this.#proxies = proxies;
    this.#throttle = new Throttle({ limits, maxKeys: MAX_ADDRESSES });
    this.#log = log;
  }

  /**
   * The caller that a valid token stands for: at once when it was checked lately.
   *
   * @throws {Problem} `token_invalid`, `auth_limited`, thrown or as a rejection.
   */
  verify(token: string, request: IncomingMessage): Caller | Promise<Caller> {
    return this.#verifier.verify(token, () => this.#countCheck(request));
  }

  #countCheck(request: IncomingMessage): void {
    const client = this.#proxies.clientOf(request);
    const throttled = this.#throttle.take(clientNetwork(client));
    if (!throttled) return;
    const { violations, retryAfterMs, first } = throttled;
    // Once until it is let through again: a flood must not fill the log.
    if (first) this.#log.pino.info({ client, code: "auth_limited" }, "token checks of an address throttled");
    const worst = violations.reduce((a, b) => (b.retryAfterMs > a.retryAfterMs ? b : a));
    const tokens = worst.limit === 1 ? "token" : "tokens";
    throw new Problem(
      "auth_limited",
      `an address may have ${worst.limit} ${tokens} checked a ${worst.window}; the next check fits in ` +
        `${Math.ceil(retryAfterMs / 1_000)} s`,
      {
        hint: "Tokens that were accepted lately are not checked anew, and pass.",
        retryAfterMs,
        violations: violations.map((violation) => ({ class: "address", remaining: 0, ...violation })),
      },
    );
  }
}
