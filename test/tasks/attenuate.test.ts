import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";

import * as fc from "fast-check";

import { requireNamed } from "../../src/egress/restrict-policy.ts";
import { Problem } from "../../src/errors.ts";
import { mustBeRunnable, subjectOfTask } from "../../src/http/run/find-task.ts";
import { Limiter } from "../../src/limits/limiter.ts";
import { SqliteTaskStore } from "../../src/tasks/stores/sqlite.ts";
import { pinOf, type Task } from "../../src/tasks/task.ts";
import { Tasks } from "../../src/tasks/tasks.ts";
import { type Claims, permitsContainer, permitsVerb } from "../../src/tokens/claims.ts";
import type { Tokens } from "../../src/tokens/token-service.ts";
import { HandClock, inFolder, withStore } from "../limits/stores/folder.ts";
import { isLong } from "../long.ts";
import { callerOf, START_S, testTokens } from "../tokens/support.ts";
import { NO_PACKAGES } from "./no-packages.ts";

const CONTAINER = "acme-1";
const PLACES = ["a.example", "a.example:443", "b.example:80"];
const VERBS = ["run", "tasks", "issue"];

const anyNet = fc.oneof(fc.constant(false), fc.subarray(PLACES, { minLength: 1 }));
const anyParams = fc.record({ P: fc.nat(1), KEY: fc.nat(1) }, { requiredKeys: [], noNullPrototype: true });
/** The names of secrets. Each write gets new values. */
const anySecrets = fc.record({ KEY: fc.nat(0), OTHER: fc.nat(0) }, { requiredKeys: [], noNullPrototype: true });
const tokenLimits = fc.record({ token: fc.record({ minute: fc.integer({ min: 1, max: 6 }) }) });

const anyTimeout = fc.constantFrom("10ms", "999ms", "1s", "1001ms");

const anyHead = fc.record(
  { limits: tokenLimits, timeout: anyTimeout, net: anyNet, fresh: fc.constant(true), params: anyParams },
  { requiredKeys: ["limits"], noNullPrototype: true },
);
const anyIssue = fc.record({
  kind: fc.constant("issue" as const),
  actor: fc.nat(),
  members: fc.record(
    {
      containers: fc.subarray(["acme-*", CONTAINER, "b"], { minLength: 1 }),
      can: fc.oneof(
        { weight: 3, arbitrary: fc.constant(VERBS) },
        { weight: 1, arbitrary: fc.subarray(VERBS, { minLength: 1 }) },
      ),
      limits: tokenLimits,
      timeout: anyTimeout,
      net: anyNet,
      params: anyParams,
      secrets: anySecrets,
      secretsReadable: fc.constant(true),
      fresh: fc.constant(true),
      exp: fc.integer({ min: START_S + 10, max: START_S + 60 }),
      depth: fc.nat(3),
    },
    { requiredKeys: ["containers", "can", "secretsReadable", "depth"], noNullPrototype: true },
  ),
});
const anyPut = fc.record({
  kind: fc.constant("put" as const),
  actor: fc.nat(),
  name: fc.constantFrom("one", "two"),
  members: fc.record(
    {
      code: fc.constantFrom("1", "2"),
      public: fc.boolean(),
      params: anyParams,
      secrets: anySecrets,
      limits: fc.option(tokenLimits),
      timeout: fc.option(anyTimeout),
      errors: fc.constantFrom("shown", "hidden"),
      record: fc.constantFrom("input", null),
      net: fc.option(anyNet),
      fresh: fc.boolean(),
      exp: fc.option(fc.integer({ min: START_S + 10, max: START_S + 60 })),
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
});
/** A PUT that is often permitted, even for callers that did not create the task. */
const anyModestPut = fc.record({
  kind: fc.constant("put" as const),
  actor: fc.nat(),
  name: fc.constantFrom("one", "two"),
  members: fc.oneof(
    fc.record({ code: fc.constant("1"), secrets: fc.constant({ OTHER: 0 }) }),
    fc.record({ limits: tokenLimits }),
    fc.record({ public: fc.boolean() }),
    fc.record({ timeout: anyTimeout }),
    fc.record({ errors: fc.constantFrom("shown", "hidden"), record: fc.constantFrom("input", null) }),
  ),
});
const anyRollback = fc.record({
  kind: fc.constant("rollback" as const),
  actor: fc.nat(),
  name: fc.constantFrom("one", "two"),
  version: fc.integer({ min: 1, max: 6 }),
});
const anyRevocation = fc.record({ kind: fc.constant("revoke" as const), actor: fc.nat() });
const anySteps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: anyIssue },
    { weight: 3, arbitrary: anyPut },
    { weight: 8, arbitrary: anyModestPut },
    { weight: 2, arbitrary: anyRollback },
    { weight: 1, arbitrary: anyRevocation },
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);
type Step = typeof anySteps extends fc.Arbitrary<(infer S)[]> ? S : never;

/** What only an entitled caller may change without the loss of the secrets. */
type Terms = Pick<Claims, "params" | "net"> & { readonly isShown: boolean; readonly isKept: boolean };

/** The origin of a secret: its setter, its code, and the terms under which an entitled caller last kept it. */
interface Origin {
  readonly by: Claims;
  readonly code: string | null;
  vetted: Terms | null;
}

/** An administrator, a head token, and the tokens and two tasks that they and their descendants create. */
class World {
  readonly tokens: Tokens;
  readonly tasks: Tasks;
  readonly actors: Claims[];
  readonly origins = new Map<string, Origin>();
  /** The number of relevant cases, which shows whether a run of the test proves anything. */
  readonly seen = { below: 0, kept: 0 };
  #values = 0;

  constructor(tokens: Tokens, tasks: Tasks, actors: Claims[]) {
    this.tokens = tokens;
    this.tasks = tasks;
    this.actors = actors;
  }

  async take(step: Step): Promise<void> {
    const by = this.actors[step.actor % this.actors.length]!;
    if (this.#isOver(by)) return;
    if (step.kind === "issue") return this.#issue(by, step.members);
    if (step.kind === "revoke") {
      // The head stays, because few steps could follow its revocation.
      if (by.parents.length > 0) await this.tokens.revoke(by.jti, "me");
      return;
    }
    if (!permitsVerb(by, "tasks") || !permitsContainer(by, CONTAINER)) return;
    const at = { container: CONTAINER, name: step.name };
    const members = step.kind === "put" ? this.#valued(step.members) : {};
    const task = await orNull(async () => {
      if (step.kind === "rollback") return this.tasks.rollBack(at, step.version, undefined, callerOf(by), () => true);
      return (await this.tasks.put(at, members, callerOf(by), () => true)).task;
    });
    if (!task) return;
    for (const value of Object.values(members.secrets ?? {})) {
      this.origins.set(value, { by, code: pinOf(task).sha256!, vetted: null });
    }
    await this.#checkSecrets(task);
  }

  async live(name: string): Promise<Task | null> {
    const task = await this.tasks.find(CONTAINER, name);
    return orNull(async () => mustBeRunnable(task, null, this.tokens.verifier));
  }

  /** Asserts that a run of the task has no more permissions than the token right above the task's token. */
  checkClaims({ caller: { claims }, public: isPublic }: Task): void {
    assert.deepEqual([claims.containers, claims.can, claims.admin, claims.depth], [[CONTAINER], ["run"], false, 0]);
    const [jti] = claims.parents;
    const above = this.actors.find((actor) => actor.jti === jti);
    if (jti === undefined) return;
    assert.ok(above && !above.admin);
    this.seen.below++;
    const context = `${JSON.stringify(claims)} is below ${JSON.stringify(above)}`;
    assert.deepEqual(claims.parents, [above.jti, ...above.parents]);
    assert.ok(permitsVerb(above, "tasks") && permitsContainer(above, CONTAINER), context);
    assert.ok(!isPublic || permitsVerb(above, "run"), context);
    assert.ok(claims.exp !== null && claims.exp <= above.exp!, context);
    assert.deepEqual(claims.limits.container, above.limits.container, context);
    assert.ok(callerOf(claims).timeoutMs <= callerOf(above).timeoutMs, context);
    for (const host of ["a.example", "b.example", "c.example"]) {
      for (const port of [80, 443]) {
        assert.ok(!isNamed(claims, host, port) || isNamed(above, host, port), `${host}:${port}: ${context}`);
      }
    }
    for (const [name, value] of Object.entries(above.params)) assert.deepEqual(claims.params[name], value, context);
    assert.ok(claims.fresh || !above.fresh, context);
  }

  /** Asserts that the code receives only secrets set for it, and secrets of the tokens above, which nothing overrides. */
  async #checkSecrets(task: Task): Promise<void> {
    const received = await this.#receivedBy(task.owner);
    const above = this.actors.find((actor) => actor.jti === task.caller.claims.parents[0]);
    const inherited = above ? await this.#receivedBy(above) : {};
    for (const [name, value] of Object.entries(inherited)) assert.equal(received[name], value, name);
    for (const [name, value] of Object.entries(received)) {
      if (inherited[name] === value) continue;
      this.#checkOwn(task, above ?? this.actors[0]!, this.origins.get(value)!);
    }
  }

  #checkOwn({ caller: { claims }, errors, record }: Task, keeper: Claims, origin: Origin): void {
    assert.equal(origin.code, claims.code!.sha256, "different code received the secrets");
    const { params, net } = claims;
    const vetting = keeper.admin || [origin.by.jti, ...origin.by.parents].includes(keeper.jti);
    const [isShown, isKept] = [errors === "shown", record === "input"];
    if (vetting) origin.vetted = { params, net, isShown, isKept };
    else {
      this.seen.kept++;
      const { vetted } = origin;
      const same = isDeepStrictEqual([vetted?.params, vetted?.net], [params, net]);
      assert.ok(same, "secrets stayed after a stranger's change");
      assert.ok(vetted?.isShown || !isShown, "a stranger showed the errors of code with secrets");
      assert.ok(vetted?.isKept || !isKept, "a stranger had the input of code with secrets kept");
    }
  }

  async #issue(by: Claims, given: object): Promise<void> {
    if (!permitsVerb(by, "issue")) return;
    const members = this.#valued(given);
    const issued = await orNull(() => this.tokens.issue(members, callerOf(by)));
    if (!issued) return;
    this.actors.push(issued.claims);
    for (const value of Object.values(members.secrets ?? {})) {
      this.origins.set(value, { by: issued.claims, code: null, vetted: null });
    }
  }

  #valued(members: object & { secrets?: object }): object & { secrets?: Record<string, string> } {
    if (!members.secrets) return members as object;
    const names = Object.keys(members.secrets);
    return { ...members, secrets: Object.fromEntries(names.map((name) => [name, `value ${++this.#values}`])) };
  }

  async #receivedBy(owner: Task["owner"]): Promise<Record<string, string>> {
    return JSON.parse((await this.tokens.vault.of(owner))?.json ?? "{}") as Record<string, string>;
  }

  #isOver(claims: Claims): boolean {
    return [claims.jti, ...claims.parents].some((jti) => this.tokens.store.isRevoked(jti));
  }
}

const MAX_SERIES = 10;

describe("no sequence of issues, tasks, versions and revocations ever extends", () => {
  test("the permissions of a task, or what its code receives", async (t) => {
    const newWorld = await worldFactory(t);
    const seen = { below: 0, kept: 0 };
    const property = fc.asyncProperty(anyHead, anySteps, async (head, steps) => {
      const world = await newWorld(head);
      for (const step of steps) {
        await world.take(step);
        for (const name of ["one", "two"]) {
          const task = await world.live(name);
          if (task) world.checkClaims(task);
        }
      }
      seen.below += world.seen.below;
      seen.kept += world.seen.kept;
    });
    // A short series may miss the rarest case, so there are more series until it has occurred.
    for (let series = 0; series < MAX_SERIES && (series === 0 || seen.kept === 0); series++) {
      await fc.assert(property, { numRuns: isLong ? 2_000 : 40 });
    }
    assert.ok(seen.below > 100, `${seen.below} tasks below other tokens prove little`);
    assert.ok(seen.kept > 0, `${seen.kept} secrets that stayed with other callers prove little`);
  });

  test("the rate of a task: its runs count against all tokens above it and above its caller", async (t) => {
    const newWorld = await worldFactory(t);
    const anyRuns = fc.array(fc.tuple(fc.constantFrom("one", "two"), fc.nat(4)), { maxLength: 60, size: "max" });
    let refused = 0;
    await inFolder((folder) =>
      withStore(folder, { clock: new HandClock() }, async (store) => {
        const limiter = new Limiter(store, { container: {}, token: {} });
        await fc.assert(
          fc.asyncProperty(anyHead, anySteps, anyRuns, async (head, steps, runs) => {
            const world = await newWorld(head);
            for (const step of steps) await world.take(step);
            const { verifier, store: registry } = world.tokens;
            const done = new Map<string, number>();
            const most = new Map<string, number>();
            for (const [name, actor] of runs) {
              const task = await world.live(name);
              if (!task) continue;
              const caller = task.public ? null : world.actors[actor % world.actors.length]!;
              if (caller && (!permitsVerb(caller, "run") || !permitsContainer(caller, CONTAINER))) continue;
              const bearer = caller && callerOf(caller, registry);
              mustBeRunnable(task, bearer, verifier);
              const { admitted } = await limiter.admit(CONTAINER, await subjectOfTask(task, bearer));
              if (!admitted) refused++;
              const chain = new Set(
                [task.caller.claims, caller].flatMap((each) => (each ? [each.jti, ...each.parents] : [])),
              );
              for (const jti of admitted ? chain : []) done.set(jti, (done.get(jti) ?? 0) + 1);
              for (const { jti, limits } of [task.caller.claims, ...world.actors]) {
                most.set(jti, limits.token?.minute ?? Infinity);
              }
            }
            for (const [jti, count] of done) assert.ok(count <= most.get(jti)!, `${jti} ran ${count} times`);
          }),
          { numRuns: isLong ? 1_000 : 30 },
        );
      }),
    );
    assert.ok(refused > 20, `${refused} refusals prove little`);
  });
});

/** Returns a function that creates worlds in one folder, each with its own tasks. */
async function worldFactory(t: TestContext): Promise<(head: object) => Promise<World>> {
  const tokens = await testTokens(t);
  let made = 0;
  return async (head) => {
    const store = SqliteTaskStore.open(join(tokens.folder, `tasks-${made++}.sqlite`));
    t.after(() => store.close());
    const room = { containerTasks: 10, familyTasks: 100, familyTaskBytes: 2 ** 20 };
    const tasks = new Tasks(store, tokens, {
      ...{ ...room, codeLimit: 1_000, packages: NO_PACKAGES, admitIssue: () => Promise.resolve() },
      nowMs: () => tokens.clock.nowMs,
    });
    const admin = await tokens.issue({ admin: true, exp: null }, "me");
    const members = { containers: ["acme-*", "b"], can: VERBS, exp: START_S + 50, depth: 4, secretsReadable: true };
    const first = await tokens.issue({ ...members, secrets: { HEAD: "of the head" }, ...head }, callerOf(admin.claims));
    return new World(tokens, tasks, [admin.claims, first.claims]);
  };
}

function isNamed({ net }: Claims, host: string, port: number): boolean {
  try {
    requireNamed(net, host, port);
    return true;
  } catch {
    return false;
  }
}

async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    const refusals = ["request_invalid", "token_forbidden", "token_invalid", "not_found"];
    assert.ok(error instanceof Problem && refusals.includes(error.code), String(error));
    return null;
  }
}
