import { TokenQuotas } from "../../../src/containers/token-quotas.ts";
import { Problem } from "../../../src/errors.ts";
import { ActiveRuns } from "../../../src/http/run/active-runs.ts";
import type { Execution } from "../../../src/http/run/execution.ts";
import { mustBeRunnable, subjectOfTask } from "../../../src/http/run/find-task.ts";
import type { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { Charge, LimitStore } from "../../../src/limits/store.ts";
import type { Limits } from "../../../src/limits/windows.ts";
import type { Task } from "../../../src/tasks/task.ts";
import type { Tasks } from "../../../src/tasks/tasks.ts";
import type { Caller } from "../../../src/tokens/caller.ts";
import { type Claims, permitsContainer, permitsVerb, type Verb } from "../../../src/tokens/claims.ts";
import { IssueRate } from "../../../src/tokens/issue-rate.ts";
import type { Tokens } from "../../../src/tokens/token-service.ts";
import type { Times } from "../../../src/tokens/token-state.ts";

/** The verified caller of a request. */
export type Verified = Caller;

/** The decisions about one run. */
export interface RunDecisions {
  /** The limits of each count that the run is charged to, by key. */
  readonly charges: Readonly<Record<string, readonly number[]>>;
  /** The counters of the caps, one for each token. */
  readonly counters: readonly object[];
  readonly topCounter: object;
  /** The isolation group. Equal keys share a guest. */
  readonly guest: { readonly isolationKey: string; readonly fresh: boolean; readonly net: unknown };
}

const NO_CAPS = { containers: 1_000, concurrency: 1_000, newContainers: 1_000 };

/** The service's decisions about tokens, each made by the same calls as in the service. */
export class ServiceDecisions {
  readonly #tokens: Tokens;
  readonly #tasks: Tasks;
  readonly #limiter: Limiter;
  readonly #quotas = new TokenQuotas(NO_CAPS);
  readonly #issueRate: IssueRate;
  #charged: readonly Charge[] = [];

  constructor(
    tokens: Tokens,
    tasks: Tasks,
    defaults: { container: Limits; token: Limits },
    policyOf: (container: string) => Limits | undefined,
  ) {
    this.#tokens = tokens;
    this.#tasks = tasks;
    const store = { admit: (charges: readonly Charge[]) => this.#charge(charges) } as unknown as LimitStore;
    this.#limiter = new Limiter(store, defaults, policyOf);
    this.#issueRate = new IssueRate(store, 60);
  }

  /** Verifies a credential. @throws {Problem} */
  async verify(token: string): Promise<Verified> {
    return await this.#tokens.verifier.verify(token);
  }

  /** Returns why a previously verified token is rejected now, or null. */
  recheck(verified: Verified): string | null {
    return this.#problem(verified, "both");
  }

  /** Returns why a token on record accepts no more secrets, or null. */
  async endOnRecord(jti: string): Promise<string | null> {
    const { claims } = (await this.#tokens.store.issued(jti))!;
    return this.#problem({ claims, key: null, kids: [] }, "end");
  }

  claims(verified: Verified): Claims {
    return verified.claims;
  }

  permits(verified: Verified, container: string, verb: Verb): boolean {
    return permitsContainer(verified.claims, container) && permitsVerb(verified.claims, verb);
  }

  /** Returns the families against which its memory and its quotas count. */
  families(verified: Verified): { memory: string; quota: string | null } {
    return { memory: verified.memory.name, quota: verified.quotaFamily };
  }

  /** Returns the key against which a write counts, or null. */
  async writesCountedBy(verified: Verified): Promise<string | null> {
    this.#charged = [];
    await this.#issueRate.admit(verified);
    return this.#charged[0]?.key ?? null;
  }

  async run(verified: Verified, container: string, secrets: string | null): Promise<RunDecisions> {
    return await this.#decisions(verified, await verified.limitSubject(), container, secrets);
  }

  /** Returns why a task does not run for a token, or for any caller, or null. */
  taskRefusal(task: Task, bearer: Verified | null): string | null {
    return refusalOf(() => mustBeRunnable(task, bearer, this.#tokens.verifier));
  }

  taskEnd(task: Task): { expired: boolean; revoked: boolean } {
    return this.#tasks.endOf(task);
  }

  async runTask(task: Task, bearer: Verified | null, container: string, secrets: string | null): Promise<RunDecisions> {
    return await this.#decisions(task.caller, await subjectOfTask(task, bearer), container, secrets);
  }

  /** Registers runs as active. The returned function returns the names of runs that were ended since. */
  keepRunning(runs: readonly { name: string; tokens: readonly Verified[] }[]): () => string[] {
    const running = new ActiveRuns(this.#tokens.store, this.#tokens.verifier);
    const killed = new Set<string>();
    for (const { name, tokens } of runs) {
      running.add({ kill: () => killed.add(name) } as unknown as Execution, tokens);
    }
    return () => [...killed];
  }

  async #decisions(
    verified: Verified,
    subject: LimitSubject,
    container: string,
    secrets: string | null,
  ): Promise<RunDecisions> {
    await this.#limiter.admit(container, subject);
    const charges = Object.fromEntries(this.#charged.map(({ key, limits }) => [key, limits]));
    const { members, head } = this.#quotas.lineageOf(subject);
    return { charges, counters: members, topCounter: head, guest: verified.isolationGroup(secrets) };
  }

  #problem(of: Pick<Caller, "claims" | "key" | "kids">, times: Times): string | null {
    const { verifier } = this.#tokens;
    const state = verifier.stateOf(of, times);
    if (state === "valid") return null;
    const { code, message } = verifier.problem(state, of);
    return `${code}: ${message}`;
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
