import type { IncomingMessage } from "node:http";

import { clientSite } from "../client-site.ts";
import { Problem } from "../errors.ts";
import { Throttle, type Throttled } from "../limits/throttle.ts";
import type { Limits } from "../limits/windows.ts";
import type { Log } from "../telemetry/log.ts";
import type { Caller } from "../tokens/caller.ts";
import type { Verifier } from "../tokens/verify.ts";
import { clientNetwork } from "./address.ts";
import type { Proxies } from "./proxies.ts";

/** The most addresses in memory. Each takes a few hundred bytes, and a few thousand bytes while it is at its limit. */
const MAX_ADDRESSES = 65_536;
/** How many times as many checks as one of its networks a site may cause: many users may have a network each in one site. */
const OF_SITE = 16;

/**
 * Checks tokens, and limits the checks of each client address: checking a signature is the most expensive work that a
 * client without a valid token can cause. A recently checked token costs nothing, so no limit applies to it.
 */
export class Authenticator {
  readonly #verifier: Verifier;
  readonly #proxies: Proxies;
  readonly #networks: Throttle;
  readonly #sites: Throttle;
  readonly #log: Log;

  /** @param limits the checks that one address may cause in each window */
  constructor(verifier: Verifier, proxies: Proxies, limits: Limits, log: Log) {
    this.#verifier = verifier;
    this.#proxies = proxies;
    this.#networks = new Throttle({ limits, maxKeys: MAX_ADDRESSES });
    const ofSite = Object.fromEntries(Object.entries(limits).map(([window, checks]) => [window, OF_SITE * checks]));
    this.#sites = new Throttle({ limits: ofSite, maxKeys: MAX_ADDRESSES });
    this.#log = log;
  }

  /**
   * Returns the caller that a valid token identifies. Returns it without a promise if the token was checked recently.
   *
   * @throws {Problem} `token_invalid`, `auth_limited`, thrown or as a rejection
   */
  verify(token: string, request: IncomingMessage): Caller | Promise<Caller> {
    return this.#verifier.verify(token, () => this.#countCheck(request));
  }

  /** A network that has no check left uses up none of its site. */
  #take(network: string): Throttled | null {
    const site = clientSite(network);
    return this.#networks.take(network) ?? (site === network ? null : this.#sites.take(site));
  }

  #countCheck(request: IncomingMessage): void {
    const client = this.#proxies.clientOf(request);
    const throttled = this.#take(clientNetwork(client));
    if (!throttled) return;
    const { violations, retryAfterMs, first } = throttled;
    // Logged once until a check of the address is admitted again, because a flood must not fill the log.
    if (first) this.#log.pino.info({ client, code: "auth_limited" }, "token checks of a client address are throttled");
    const worst = violations.reduce((a, b) => (b.retryAfterMs > a.retryAfterMs ? b : a));
    const checks = worst.limit === 1 ? "token check" : "token checks";
    throw new Problem(
      "auth_limited",
      `a client address is allowed ${worst.limit} ${checks} per ${worst.window}; the next check fits in ` +
        `${Math.ceil(retryAfterMs / 1_000)} s`,
      {
        hint: "Recently accepted tokens are not checked again and are still accepted.",
        retryAfterMs,
        violations: violations.map((violation) => ({ class: "address", remaining: 0, ...violation })),
      },
    );
  }
}
