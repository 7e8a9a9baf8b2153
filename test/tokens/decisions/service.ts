import { TokenQuotas } from "../../../src/containers/token-quotas.ts";
import { Problem } from "../../../src/errors.ts";
import type { Execution } from "../../../src/http/execution.ts";
import { holderOf } from "../../../src/http/holder.ts";
import { holderOfTask, mustBeRunnable } from "../../../src/http/named-run.ts";
import { partyOf } from "../../../src/http/party.ts";
import { Running } from "../../../src/http/running.ts";
import { type Charge, Limiter, type LimitStore } from "../../../src/limits/limiter.ts";
import type { Limits } from "../../../src/limits/windows.ts";
import type { Task } from "../../../src/tasks/task.ts";
import type { Tokens } from "../../../src/tokens/authority.ts";
import { type Claims, familyOf, permitsContainer, permitsVerb, type Verb } from "../../../src/tokens/claims.ts";
import { IssueRate, quotaFamilyOf } from "../../../src/tokens/family.ts";

/** What a request comes as, once its token is verified. */
export type Verified = Claims;

/** One run, and what it is decided by. */
export interface RunDecisions {
  /** The key of each count that the run is charged to, with its six limits. */
  readonly charges: Readonly<Record<string, readonly number[]>>;
  /** The counters of the caps, one for each token. */
  readonly counters: readonly object[];
  readonly topCounter: object;
  /** Equal keys share a guest. */
  readonly guest: { readonly isolationKey: string; readonly fresh: boolean; readonly net: unknown };
}

const NO_CAPS = { containers: 1_000, concurrency: 1_000, newContainers: 1_000 };

/** The decisions of the service about tokens, each asked as the service itself asks. */
export class ServiceDecisions {
  readonly #tokens: Tokens;
  readonly #limiter: Limiter;
  readonly #quotas = new TokenQuotas(NO_CAPS);
  readonly #issueRate: IssueRate;
  #charged: readonly Charge[] = [];

  constructor(
    tokens: Tokens,
    defaults: { container: Limits; token: Limits },
    policyOf: (container: string) => Limits | undefined,
  ) {
    this.#tokens = tokens;
    const store = { admit: (charges: readonly Charge[]) => this.#charge(charges) } as unknown as LimitStore;
    this.#limiter = new Limiter(store, defaults, policyOf);
    this.#issueRate = new IssueRate(store, 60);
  }

  /** Verifies a credential. @throws {Problem} */
  async verify(token: string): Promise<Verified> {
    return await this.#tokens.verifier.verify(token);
  }

  /** Why a token that was verified before is refused now, or null. */
  recheck(verified: Verified): string | null {
    return refusalOf(() => this.#tokens.verifier.mustBeInForce(verified));
  }

  /** Why a token on record takes no secrets any more, or null. */
  async endOnRecord(jti: string): Promise<string | null> {
    const issued = await this.#tokens.registry.issued(jti);
    return refusalOf(() => this.#tokens.verifier.mustNotHaveEnded(issued!.claims));
  }

  claims(verified: Verified): Claims {
    return verified;
  }

  permits(verified: Verified, container: string, verb: Verb): boolean {
    return permitsContainer(verified, container) && permitsVerb(verified, verb);
  }

  /** Whose memory and quotas it uses. */
  families(verified: Verified): { memory: string; quota: string | null } {
    return { memory: familyOf(verified), quota: quotaFamilyOf(verified) };
  }

  /** The key that a write is counted by, or null. */
  async writesCountedBy(verified: Verified): Promise<string | null> {
    this.#charged = [];
    await this.#issueRate.admit(verified);
    return this.#charged[0]?.key ?? null;
  }

  async run(verified: Verified, container: string, secrets: string | null): Promise<RunDecisions> {
    const holder = await holderOf(verified, this.#tokens.registry);
    return await this.#decisions(verified, holder, container, secrets);
  }

  /** Why a task does not run for a token, or for anybody, or null. */
  taskRefusal(task: Task, bearer: Verified | null): string | null {
    return refusalOf(() => mustBeRunnable(task, bearer, this.#tokens.verifier));
  }

  taskEnd(task: Task): { expired: boolean; revoked: boolean } {
    return this.#tokens.verifier.endOf(task.claims);
  }

  async runTask(task: Task, bearer: Verified | null, container: string, secrets: string | null): Promise<RunDecisions> {
    const holder = await holderOfTask(task, bearer, this.#tokens.registry);
    return await this.#decisions(task.claims, holder, container, secrets);
  }

  /** Counts runs as running; the returned function names those that were ended since. */
  keepRunning(runs: readonly { name: string; tokens: readonly Verified[] }[]): () => string[] {
    const running = new Running(this.#tokens.registry, this.#tokens.verifier);
    const killed = new Set<string>();
    for (const { name, tokens } of runs) {
      running.add({ kill: () => killed.add(name) } as unknown as Execution, tokens);
    }
    return () => [...killed];
  }

  async #decisions(
    verified: Verified,
    holder: Awaited<ReturnType<typeof holderOf>>,
    container: string,
    secrets: string | null,
  ): Promise<RunDecisions> {
    await this.#limiter.admit(container, holder);
    const charges = Object.fromEntries(this.#charged.map(({ key, limits }) => [key, limits]));
    const { members, head } = this.#quotas.lineageOf(holder);
    return { charges, counters: members, topCounter: head, guest: partyOf(verified, secrets) };
  }

  #charge(charges: readonly Charge[]): Promise<object> {
    this.#charged = charges;
    return Promise.resolve({ admitted: true, usage: [], retryAfterMs: 0, violations: [] });
  }
}

function refusalOf(action: () => unknown): string | null {
  try {
    action();
    return null;
  } catch (error) {
    if (error instanceof Problem) return `${error.code}: ${error.message}`;
    throw error;
  }
}
