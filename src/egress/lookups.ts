import { isIP, isIPv6 } from "node:net";

import type { EgressCounts } from "../telemetry/egress-counts.ts";
import type { AnswerMessage } from "../wire/messages.ts";
import type { Budget, Budgets } from "./budgets.ts";
import { type Attempt, denial, failure, RUN_IS_OVER } from "./faults.ts";
import { canonicalHost } from "./host.ts";
import { CONNECT_MS, MAX_LOOKUPS, MAX_OPENS, MAX_REMEMBERED } from "./limits.ts";
import { parseLookup } from "./messages.ts";
import { unanswered } from "./names.ts";
import { type CheckedAddress, EgressDenied, type EgressPolicy } from "./policy.ts";
import type { Refusals } from "./refusals.ts";

export interface LookupsOptions {
  readonly policy: EgressPolicy;
  readonly budgets: Budgets;
  readonly refusals: Refusals;
  readonly counts: EgressCounts;
  /** Tells the guest. */
  readonly answer: (id: number, message: AnswerMessage) => void;
}

/**
 * The lookups of one guest. Their answers are remembered: a task that resolves a name first and then connects to the
 * address is judged by the name. An address that no lookup of this guest gave is judged as itself, whatever name a frame
 * puts beside it.
 */
export class Lookups {
  readonly #with: LookupsOptions;
  readonly #underWay: Set<number> = new Set();
  /** By name, the one that was asked for longest ago first. */
  readonly #given: Map<string, readonly string[]> = new Map();

  constructor(options: LookupsOptions) {
    this.#with = options;
  }

  /** As `receive` of the gateway. */
  begin(id: number, payload: Buffer): boolean {
    if (this.#underWay.has(id)) throw new Error("a lookup that is under way already");
    const { run, message } = parseLookup(payload);
    const attempt = { host: message.host, port: null };
    const budget = this.#with.budgets.of(run);
    const refusal = budget === null ? RUN_IS_OVER : this.#whyNot(budget);
    if (budget === null || refusal !== null) {
      this.#with.refusals.add(budget, attempt, budget === null ? "over" : "limit");
      this.#with.answer(id, { fault: denial(attempt, refusal!) });
      return false;
    }
    budget.lookups++;
    this.#with.counts.lookups++;
    this.#underWay.add(id);
    void this.#find(id, attempt, budget);
    return true;
  }

  /** Whether a lookup of this guest gave the address for the host. */
  gave(host: string, address: string): boolean {
    return this.#given.get(canonicalHost(host) ?? host)?.includes(address) ?? false;
  }

  #whyNot(budget: Budget): string | null {
    if (budget.lookups >= MAX_OPENS) return `the run has looked up ${MAX_OPENS} names, and may no more`;
    return this.#underWay.size >= MAX_LOOKUPS ? `${MAX_LOOKUPS} lookups are under way, and more may not be` : null;
  }

  async #find(id: number, attempt: Attempt, budget: Budget): Promise<void> {
    let late = false;
    // Its place is not given back yet: whatever waits for DNS still does.
    const timer = setTimeout(() => {
      late = true;
      this.#with.answer(id, { fault: failure(unanswered(attempt.host), attempt) });
    }, CONNECT_MS).unref();
    let answer: AnswerMessage;
    try {
      answer = { addresses: await this.#addressesOf(attempt.host) };
    } catch (error) {
      if (error instanceof EgressDenied) this.#with.refusals.add(budget, attempt, error.reason);
      answer = { fault: failure(error, attempt) };
    }
    clearTimeout(timer);
    this.#underWay.delete(id);
    if (!late) this.#with.answer(id, answer);
  }

  async #addressesOf(host: string): Promise<CheckedAddress[]> {
    // It asks nobody and tells nothing; whether it may be dialled is judged when it is.
    if (isIP(host) !== 0) return [{ address: host, family: isIPv6(host) ? 6 : 4 }];
    const addresses = await this.#with.policy.lookup(host);
    this.#remember(
      canonicalHost(host) ?? host,
      addresses.map(({ address }) => address),
    );
    return addresses;
  }

  #remember(name: string, addresses: readonly string[]): void {
    this.#given.delete(name);
    this.#given.set(name, addresses);
    if (this.#given.size <= MAX_REMEMBERED) return;
    const [oldest] = this.#given.keys();
    this.#given.delete(oldest!);
  }
}
