import { isIP, isIPv6 } from "node:net";

import type { EgressCounts } from "../telemetry/egress-counts.ts";
import type { AnswerMessage } from "../wire/messages.ts";
import { type Budget, type Budgets, userOf } from "./budgets.ts";
import { EgressDenied } from "./denied.ts";
import { CONNECT_MS, MAX_LOOKUPS, MAX_OPENS, MAX_REMEMBERED } from "./egress-limits.ts";
import { type Attempt, denial, failure, RUN_IS_OVER } from "./faults.ts";
import { canonicalHost } from "./host.ts";
import { parseLookup } from "./parse-requests.ts";
import type { CheckedAddress, EgressPolicy } from "./policy.ts";
import type { Refusals } from "./refusals.ts";
import { type Asker, unanswered } from "./resolve-names.ts";

export interface LookupsOptions {
  readonly policy: EgressPolicy;
  readonly budgets: Budgets;
  readonly refusals: Refusals;
  readonly counts: EgressCounts;
  /** Sends the answer to the guest. */
  readonly answer: (id: number, message: AnswerMessage) => void;
}

/**
 * The lookups of one guest. It remembers their answers: if a task resolves a name and then connects to an address of
 * it, the policy checks the name. An address that no lookup of this guest returned is checked as an address, whatever
 * name the frame states.
 */
export class Lookups {
  readonly #options: LookupsOptions;
  readonly #inProgress: Set<number> = new Set();
  /** The addresses by name, with the oldest lookup first. */
  readonly #answers: Map<string, readonly string[]> = new Map();

  constructor(options: LookupsOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#inProgress.size === 0;
  }

  /** Starts a lookup; the contract is that of `Gateway.receive`. */
  begin(id: number, payload: Buffer): boolean {
    if (this.#inProgress.has(id)) throw new Error("a lookup with this id is in progress");
    const { run, message } = parseLookup(payload);
    const attempt = { host: message.host, port: null };
    const budget = this.#options.budgets.of(run);
    const refusal = budget === null ? RUN_IS_OVER : this.#whyNot(budget);
    if (budget === null || refusal !== null) {
      this.#options.refusals.add(budget, attempt, budget === null ? "over" : "limit");
      this.#options.answer(id, { fault: denial(attempt, refusal!) });
      return false;
    }
    budget.lookups++;
    this.#options.counts.lookups++;
    this.#inProgress.add(id);
    void this.#find(id, attempt, budget);
    return true;
  }

  /** Whether a lookup of this guest returned the address for the host. */
  gave(host: string, address: string): boolean {
    return this.#answers.get(canonicalHost(host) ?? host)?.includes(address) ?? false;
  }

  #whyNot(budget: Budget): string | null {
    const most = budget.runs * MAX_OPENS;
    if (budget.lookups >= most) return `${userOf(budget)} looked up ${most} names, the maximum`;
    return this.#inProgress.size >= MAX_LOOKUPS ? `${MAX_LOOKUPS} lookups are in progress, the maximum` : null;
  }

  async #find(id: number, attempt: Attempt, budget: Budget): Promise<void> {
    let late = false;
    const waiting = new AbortController();
    // The lookup still counts as in progress while its DNS query continues. Without a query, it gives up its turn.
    const timer = setTimeout(() => {
      late = true;
      waiting.abort();
      this.#options.answer(id, { fault: failure(unanswered(attempt.host), attempt) });
    }, CONNECT_MS).unref();
    let answer: AnswerMessage;
    try {
      answer = { addresses: await this.#addressesOf(attempt.host, { family: budget.family, signal: waiting.signal }) };
    } catch (error) {
      if (error instanceof EgressDenied) this.#options.refusals.add(budget, attempt, error.reason);
      answer = { fault: failure(error, attempt) };
    }
    clearTimeout(timer);
    this.#inProgress.delete(id);
    if (!late) this.#options.answer(id, answer);
  }

  async #addressesOf(host: string, asker: Asker): Promise<CheckedAddress[]> {
    // An address needs no DNS query and reveals nothing. The policy checks it at the connection.
    if (isIP(host) !== 0) return [{ address: host, family: isIPv6(host) ? 6 : 4 }];
    const addresses = await this.#options.policy.lookup(host, asker);
    this.#remember(
      canonicalHost(host) ?? host,
      addresses.map(({ address }) => address),
    );
    return addresses;
  }

  #remember(name: string, addresses: readonly string[]): void {
    this.#answers.delete(name);
    this.#answers.set(name, addresses);
    if (this.#answers.size <= MAX_REMEMBERED) return;
    const [oldest] = this.#answers.keys();
    this.#answers.delete(oldest!);
  }
}
