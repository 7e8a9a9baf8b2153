import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import * as fc from "fast-check";

import { Problem } from "../../../src/errors.ts";
import { SqliteTaskStore } from "../../../src/tasks/stores/sqlite.ts";
import type { Task } from "../../../src/tasks/task.ts";
import { Tasks } from "../../../src/tasks/tasks.ts";
import { VERBS } from "../../../src/tokens/claims.ts";
import { revokeKey, rotateKeys } from "../../../src/tokens/keys/key-rotation.ts";
import { isLong } from "../../long.ts";
import { NO_PACKAGES } from "../../tasks/no-packages.ts";
import { START_S, testTokens } from "../support.ts";
import {
  below,
  type Cause,
  chainOf,
  chargesOf,
  endOnRecord,
  isRunEnded,
  type ModelRequest,
  type ModelState,
  type ModelToken,
  NAMES,
  PATTERNS,
  permits,
  PLACES,
  refusalOf,
  shareGuest,
  taskBelow,
  taskEnd,
  topOf,
} from "./model.ts";
import { type RunDecisions, ServiceDecisions, type Verified } from "./service.ts";

const CONTAINER = "acme-1";
const DEFAULTS = { container: { hour: 90, second: 3 }, token: { day: 50 } };
const POLICIES: Readonly<Record<string, { minute: number }>> = { [CONTAINER]: { minute: 2 } };
const PIN = { sha256: "a".repeat(64) };

const anyLimits = fc.record(
  { second: fc.integer({ min: 1, max: 5 }), minute: fc.integer({ min: 1, max: 5 }), day: fc.constant(70) },
  { requiredKeys: [], noNullPrototype: true },
);
const anyParams = fc.record({ P: fc.nat(1), Q: fc.nat(1) }, { requiredKeys: [], noNullPrototype: true });
const anyNet = fc.oneof(fc.constant(false as const), fc.subarray([...PLACES], { minLength: 1 }).map(sorted));
const anyTimeout = fc.constantFrom("10ms", "999ms", "1000ms", "1001ms", "2000ms");
const others = {
  nbf: fc.integer({ min: START_S, max: START_S + 20 }),
  limits: fc.record({ container: anyLimits, token: anyLimits }, { requiredKeys: [], noNullPrototype: true }),
  timeout: anyTimeout,
  net: anyNet,
  params: anyParams,
  secretsReadable: fc.constant(true as const),
  fresh: fc.constant(true as const),
};
const anyRequest: fc.Arbitrary<ModelRequest> = fc.record(
  {
    ...others,
    containers: fc.subarray([...PATTERNS], { minLength: 1 }),
    can: fc.subarray([...VERBS], { minLength: 1 }),
    exp: fc.integer({ min: START_S + 21, max: START_S + 90 }),
    depth: fc.nat(4),
  },
  { requiredKeys: ["containers", "can", "exp", "depth"], noNullPrototype: true },
);
const pinnedRequest = fc
  .record(others, { requiredKeys: [], noNullPrototype: true })
  .map((more) => ({ ...more, containers: [CONTAINER], can: ["run"], exp: START_S + 30, code: PIN }));
/** A request that is mostly permitted, so that chains grow long. */
const modestRequest: fc.Arbitrary<ModelRequest> = fc
  .record({ limits: fc.record({ token: anyLimits }), exp: fc.integer({ min: START_S + 21, max: START_S + 50 }) })
  .map((more) => ({ ...more, containers: [CONTAINER], can: [...VERBS] }));
const adminRequest = fc.constant({ admin: true as const, exp: null });
const headRequest: fc.Arbitrary<ModelRequest> = fc
  .record(
    { limits: others.limits, timeout: anyTimeout, net: anyNet, params: anyParams, fresh: others.fresh },
    { requiredKeys: [], noNullPrototype: true },
  )
  .map((more) => ({ ...more, containers: ["acme-*", "b"], can: [...VERBS], exp: START_S + 80, depth: 4 }));
const taskMembers = fc.record(
  {
    ...{ limits: others.limits, timeout: anyTimeout, net: anyNet, params: anyParams, fresh: others.fresh },
    public: fc.boolean(),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const actor = fc.oneof(fc.nat(), fc.constant(-1), fc.constant(-1));
const anyStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("modest" as const), actor, request: modestRequest }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("issue" as const), actor, request: anyRequest }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("issue" as const), actor, request: pinnedRequest }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("head" as const), request: fc.oneof(headRequest, adminRequest) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("task" as const), actor, members: taskMembers }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("revoke" as const), actor: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rotate" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("revokeKey" as const), actor: fc.oneof(fc.constant(0), fc.nat()) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compare" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 20 }) }) },
);
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;
const anySteps = fc.array(anyStep, { minLength: 8, maxLength: 24, size: "max" });

const EXAMPLE_CHILD: ModelRequest = { containers: [CONTAINER], can: [...VERBS], exp: START_S + 80 };
const EXAMPLE_HEAD: ModelRequest = { ...EXAMPLE_CHILD, depth: 4 };
/** Examples with every cause, because random steps alone would sometimes miss one. */
const EVERY_CAUSE: [ModelRequest, Step[]][] = [
  [
    EXAMPLE_HEAD,
    [
      { kind: "rotate" },
      { kind: "modest", actor: 1, request: EXAMPLE_CHILD },
      { kind: "task", actor: 2, members: { public: true } },
      { kind: "revokeKey", actor: 0 },
    ],
  ],
  [
    EXAMPLE_HEAD,
    [
      { kind: "modest", actor: 1, request: EXAMPLE_CHILD },
      { kind: "modest", actor: 2, request: EXAMPLE_CHILD },
      { kind: "modest", actor: 3, request: EXAMPLE_CHILD },
      { kind: "task", actor: 3, members: {} },
      { kind: "task", actor: 1, members: {} },
      { kind: "head", request: { ...EXAMPLE_HEAD, secretsReadable: true } },
      { kind: "head", request: { ...EXAMPLE_HEAD, secretsReadable: true } },
      { kind: "issue", actor: 0, request: { ...EXAMPLE_CHILD, nbf: START_S + 20, depth: 0 } },
      { kind: "compare" },
      { kind: "revoke", actor: 2 },
      { kind: "compare" },
      { kind: "wait", seconds: 100 },
    ],
  ],
];

test("the service makes every decision about a chain of tokens as the contract requires", async (t) => {
  const seen = { refused: new Set<Cause>(), deepest: 0, excess: 0, tasks: 0, killed: 0, sharing: 0 };
  await fc.assert(
    fc.asyncProperty(headRequest, anySteps, async (head, steps) => {
      const world = await World.open(t, seen);
      await world.take({ kind: "head", request: { admin: true, exp: null } });
      await world.take({ kind: "head", request: head });
      for (const step of steps) await world.take(step);
      await world.compare();
      await world.close();
    }),
    { numRuns: isLong ? 1_500 : 40, examples: EVERY_CAUSE },
  );
  const causes = ["key unknown", "key above unknown", "not yet valid", "expired", "revoked", "revoked above", null];
  for (const cause of causes) assert.ok(seen.refused.has(cause as Cause), `no token was ever ${String(cause)}`);
  assert.ok(seen.deepest >= 3, `chains of ${seen.deepest} prove little`);
  for (const count of ["excess", "tasks", "killed", "sharing"] as const) {
    assert.ok(seen[count] > 5, `${seen[count]} cases of "${count}" prove little`);
  }
});

interface Credential {
  readonly token: string;
  readonly model: ModelToken;
  /** The caller at issue, if the token was valid then. */
  readonly verified: Verified | null;
}

interface StoredTask {
  readonly name: string;
  readonly model: ModelToken;
}

interface Seen {
  readonly refused: Set<Cause>;
  deepest: number;
  excess: number;
  tasks: number;
  killed: number;
  sharing: number;
}

/** The keys, tokens and tasks of the service, and the model of each. */
class World {
  readonly #tokens: Awaited<ReturnType<typeof testTokens>>;
  readonly #tasks: Tasks;
  readonly #service: ServiceDecisions;
  readonly #seen: Seen;
  readonly #credentials: Credential[] = [];
  readonly #storedTasks: StoredTask[] = [];
  readonly #revoked = new Set<string>();
  readonly #keys: string[];

  static async open(t: TestContext, seen: Seen): Promise<World> {
    return new World(await testTokens(t), seen);
  }

  private constructor(tokens: Awaited<ReturnType<typeof testTokens>>, seen: Seen) {
    this.#tokens = tokens;
    const nowMs = (): number => tokens.clock.nowMs;
    const room = { containerTasks: 1_000, familyTasks: 1_000, familyTaskBytes: 2 ** 30, codeLimit: 1_000 };
    const store = SqliteTaskStore.open(join(tokens.folder, "tasks.sqlite"));
    this.#tasks = new Tasks(store, tokens, {
      ...room,
      nowMs,
      packages: NO_PACKAGES,
      admitIssue: () => Promise.resolve(),
    });
    this.#service = new ServiceDecisions(tokens, this.#tasks, DEFAULTS, (container) => POLICIES[container]);
    this.#seen = seen;
    this.#keys = [tokens.keys.signing.kid];
  }

  async close(): Promise<void> {
    this.#tasks.close();
    await Promise.resolve();
  }

  async take(step: Step): Promise<void> {
    if (step.kind === "head") return await this.#issueHead(step.request);
    if (step.kind === "modest") {
      const by = this.#actor(step.actor);
      const depth = by === null || by.model.admin ? 4 : Math.max(0, by.model.depth - 1);
      return await this.#issue(by, { ...step.request, depth });
    }
    if (step.kind === "issue") return await this.#issue(this.#actor(step.actor), step.request);
    if (step.kind === "task") return await this.#putTask(this.#actor(step.actor), step.members);
    if (step.kind === "compare") return await this.compare();
    if (step.kind === "wait") {
      this.#tokens.clock.nowMs += step.seconds * 1_000;
      return;
    }
    await this.#ending(async () => {
      if (step.kind === "revoke") await this.#revoke(step.actor);
      else await this.#changeKeys(step.kind === "rotate" ? null : step.actor);
    });
  }

  /** Compares every decision about every token and task. */
  async compare(): Promise<void> {
    const runs: { token: ModelToken; secrets: string | null; run: RunDecisions }[] = [];
    for (const credential of this.#credentials) {
      const verified = await this.#compareCredential(credential);
      if (!verified) continue;
      const { model: token } = credential;
      for (const secrets of token.code !== null || token.secretsReadable ? [null, "one", "two"] : [null]) {
        const run = await this.#service.run(verified, CONTAINER, secrets);
        assert.deepEqual(run.charges, chargesOf([token], CONTAINER, DEFAULTS, POLICIES[CONTAINER]));
        runs.push({ token, secrets, run });
      }
      const elsewhere = await this.#service.run(verified, "b", null);
      assert.deepEqual(elsewhere.charges, chargesOf([token], "b", DEFAULTS, undefined));
    }
    for (const { name, model } of this.#storedTasks) runs.push(...(await this.#compareTask(name, model)));
    this.#compareRuns(runs);
  }

  async #compareCredential({ token, model, verified: before }: Credential): Promise<Verified | null> {
    const cause = refusalOf(model, this.#state);
    this.#seen.refused.add(cause);
    const verified = await this.#verify(token, cause);
    if (before) assertRefusal(this.#service.recheck(before), cause);
    assertRefusal(await this.#service.endOnRecord(model.jti), endOnRecord(model, this.#state));
    if (!verified) return null;
    const claims = this.#service.claims(verified);
    assert.deepEqual([claims.jti, claims.parents], [model.jti, model.above.map(({ jti }) => jti)]);
    assert.deepEqual(
      [claims.net, claims.code, claims.params, claims.fresh, claims.exp],
      [model.net, model.code, model.params, model.fresh, model.exp],
    );
    for (const name of NAMES) {
      for (const verb of VERBS) assert.equal(this.#service.permits(verified, name, verb), permits(model, name, verb));
    }
    assert.equal(verified.timeoutMs, model.timeoutMs);
    const top = topOf(model).jti;
    assert.deepEqual(this.#service.families(verified), { memory: top, quota: model.admin ? null : top });
    assert.equal(await this.#service.writesCountedBy(verified), model.admin ? null : `i:${top}`);
    return verified;
  }

  async #verify(token: string, cause: Cause): Promise<Verified | null> {
    try {
      const verified = await this.#service.verify(token);
      assert.equal(cause, null, "a token was accepted");
      return verified;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      assertRefusal(`${error.code}: ${error.message}`, cause);
      return null;
    }
  }

  async #compareTask(
    name: string,
    model: ModelToken,
  ): Promise<{ token: ModelToken; secrets: string | null; run: RunDecisions }[]> {
    const task = (await this.#tasks.find(CONTAINER, name))!;
    assert.deepEqual(this.#service.taskEnd(task), taskEnd(model, this.#state));
    assert.equal(task.caller.timeoutMs, model.timeoutMs);
    const cause = refusalOf(model, this.#state);
    for (const each of [task, (await this.#tasks.list(CONTAINER, "", 1_000)).find((some) => some.name === name)!]) {
      assertRefusal(this.#service.taskRefusal(each, null), cause);
    }
    const runs = [];
    for (const secrets of [null, "one"]) {
      const run = await this.#service.runTask(task, null, CONTAINER, secrets);
      assert.deepEqual(run.charges, chargesOf([model], CONTAINER, DEFAULTS, POLICIES[CONTAINER]));
      runs.push({ token: model, secrets, run });
    }
    for (const { verified, model: caller } of this.#credentials) {
      if (!verified) continue;
      const refusal = this.#service.taskRefusal(task, verified);
      if (caller.code !== null) assert.match(refusal!, /^code_pinned/);
      else assertRefusal(refusal, cause);
      const run = await this.#service.runTask(task, verified, CONTAINER, null);
      assert.deepEqual(run.charges, chargesOf([model, caller], CONTAINER, DEFAULTS, POLICIES[CONTAINER]));
      assert.equal(run.counters.length, chainOf([model, caller]).length);
      const again = await this.#service.runTask(task, verified, CONTAINER, null);
      assert.deepEqual(again.counters, run.counters);
    }
    return runs;
  }

  /** Compares which runs share a guest, and which caps they share. */
  #compareRuns(runs: readonly { token: ModelToken; secrets: string | null; run: RunDecisions }[]): void {
    for (const one of runs) {
      assert.deepEqual([one.run.guest.fresh, one.run.guest.net], [one.token.fresh, one.token.net]);
      for (const other of runs) {
        const share = shareGuest(one, other);
        assert.equal(
          one.run.guest.isolationKey === other.run.guest.isolationKey,
          share,
          `${one.run.guest.isolationKey} ${other.run.guest.isolationKey}`,
        );
        if (share && one.token !== other.token) this.#seen.sharing++;
        const common = one.run.counters.filter((counter) => other.run.counters.includes(counter)).length;
        const chain = chainOf([other.token]);
        assert.equal(common, chainOf([one.token]).filter((token) => chain.includes(token)).length);
        assert.equal(one.run.topCounter === other.run.topCounter, topOf(one.token) === topOf(other.token));
      }
    }
  }

  /** Takes a step that ends tokens while all possible runs are active. */
  async #ending(step: () => Promise<void>): Promise<void> {
    const runs: { name: string; tokens: Verified[]; models: ModelToken[] }[] = [];
    const credentials = this.#credentials.filter(({ model }) => refusalOf(model, this.#state) === null);
    for (const { verified, model } of credentials) {
      if (verified) runs.push({ name: model.jti, tokens: [verified], models: [model] });
    }
    for (const { name, model } of this.#storedTasks) {
      if (refusalOf(model, this.#state) !== null) continue;
      const task = (await this.#tasks.find(CONTAINER, name))!;
      const stands = verifiedTask(task);
      runs.push({ name, tokens: [stands], models: [model] });
      for (const { verified, model: caller } of credentials) {
        if (!verified) continue;
        runs.push({ name: `${name} ${caller.jti}`, tokens: [stands, verified], models: [model, caller] });
      }
    }
    const killed = this.#service.keepRunning(runs);
    await step();
    const ended = runs.filter(({ models }) => models.some((model) => isRunEnded(model, this.#state)));
    assert.deepEqual(killed().toSorted(), ended.map(({ name }) => name).toSorted());
    this.#seen.killed += ended.length;
  }

  async #revoke(at: number): Promise<void> {
    const all = [...this.#credentials, ...this.#storedTasks];
    const { jti } = all[at % all.length]!.model;
    await this.#tokens.revoke(jti, "the test");
    this.#revoked.add(jti);
  }

  /** @param at the index of the key to revoke, or null to create another key */
  async #changeKeys(at: number | null): Promise<void> {
    const file = join(this.#tokens.folder, "keys.json");
    const { nowMs } = this.#tokens.clock;
    if (at === null) {
      if (this.#keys.length < 4) this.#keys.push(await rotateKeys(file, nowMs));
    } else {
      const [kid] = this.#keys.splice(at % this.#keys.length, 1);
      const created = await revokeKey(file, kid!, nowMs);
      if (created !== null) this.#keys.push(created);
    }
    await this.#tokens.keys.reload();
  }

  async #issueHead(request: ModelRequest): Promise<void> {
    const { token, jti } = await this.#tokens.issue(request, "the test");
    await this.#add(token, below(null, request, { jti, kid: this.#signing }).token);
  }

  async #issue(by: Credential | null, request: ModelRequest): Promise<void> {
    if (!by?.verified || !permits(by.model, by.model.containers[0] ?? "b", "issue")) return;
    // A request with other faults is outside the scope of this test.
    if (request.exp! <= this.#state.nowS || (request.nbf ?? 0) >= request.exp!) return;
    const above = by.model.admin ? null : by.model;
    const { excess } = below(above, request, { jti: "", kid: "" });
    const created = await createdOrNull(excess, () => this.#tokens.issue(request, by.verified!));
    if (!created) return void this.#seen.excess++;
    const { token: model } = below(above, request, { jti: created.jti, kid: this.#signing });
    const { kids } = (await this.#tokens.store.issued(created.jti))!;
    assert.deepEqual(new Set(kids), new Set(chainOf([model]).map(({ kid }) => kid)));
    await this.#add(created.token, model);
  }

  async #putTask(by: Credential | null, members: ModelRequest & { public?: boolean }): Promise<void> {
    if (!by?.verified || !permits(by.model, CONTAINER, "tasks")) return;
    if (by.model.exp !== null && by.model.exp <= this.#state.nowS) return;
    const name = `task-${this.#storedTasks.length}`;
    const code = `"${name}"`;
    const { excess } = taskBelow(by.model, CONTAINER, members, "");
    const at = { container: CONTAINER, name };
    const created = await createdOrNull(excess, () =>
      this.#tasks.put(at, { code, ...members }, by.verified!, () => true),
    );
    if (!created) return void this.#seen.excess++;
    const { claims } = created.task.caller;
    const { token } = taskBelow(by.model, CONTAINER, members, claims.jti);
    this.#storedTasks.push({ name, model: { ...token, code: claims.code } });
    this.#seen.tasks++;
  }

  async #add(token: string, model: ModelToken): Promise<void> {
    const cause = refusalOf(model, this.#state);
    this.#credentials.push({ token, model, verified: await this.#verify(token, cause) });
    this.#seen.deepest = Math.max(this.#seen.deepest, model.above.length);
  }

  /** Returns a credential that is valid now, or null. */
  #actor(at: number): Credential | null {
    const credential = this.#credentials.at(at % this.#credentials.length);
    return credential && refusalOf(credential.model, this.#state) === null ? credential : null;
  }

  get #state(): ModelState {
    return { nowS: this.#tokens.clock.nowMs / 1_000, revoked: this.#revoked, keys: new Set(this.#keys) };
  }

  get #signing(): string {
    return this.#tokens.keys.signing.kid;
  }
}

function verifiedTask({ caller }: Task): Verified {
  return caller;
}

const TEXTS: readonly (readonly [Cause, RegExp])[] = [
  ["key above unknown", /descends from is signed with a key that this service does not hold/],
  ["key unknown", /the token is signed with a key that this service does not hold/],
  ["not yet valid", /the token becomes valid in \d+ s/],
  ["expired", /the token expired \d+ s ago/],
  ["revoked above", /a token that this one descends from was revoked/],
  ["revoked", /the token was revoked/],
];

function assertRefusal(text: string | null, cause: Cause): void {
  if (text !== null) assert.match(text, /^token_invalid: /);
  const found = text === null ? null : TEXTS.find(([, pattern]) => pattern.test(text))?.[0];
  assert.equal(found, cause, text ?? "the token was accepted");
}

/** Returns what the service creates; null if it rejects exactly the members that exceed the calling token. */
async function createdOrNull<T>(excess: readonly string[], make: () => Promise<T>): Promise<T | null> {
  try {
    const created = await make();
    assert.deepEqual(excess, [], "the service created what it had to reject");
    return created;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    assert.equal(error.code, "token_forbidden", error.message);
    const members = (error.options.violations as readonly { member: string }[]).map(({ member }) => member);
    assert.deepEqual(members.toSorted(), excess.toSorted());
    return null;
  }
}

function sorted(places: readonly string[]): readonly string[] {
  return places.toSorted();
}
