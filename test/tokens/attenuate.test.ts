import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { Problem } from "../../src/errors.ts";
import { Limiter } from "../../src/limits/limiter.ts";
import type { MemberFault } from "../../src/members.ts";
import { type Claims, permitsContainer, permitsVerb, VERBS } from "../../src/tokens/claims.ts";
import { HandClock, inFolder, withStore } from "../limits/stores/folder.ts";
import { isLong } from "../long.ts";
import { callerOf, problemOf, START_S, testTokens } from "./support.ts";

const ALL = ["run", "limits", "issue"];
const HEAD = {
  containers: ["acme", "acme-*"],
  can: ALL,
  exp: START_S + 3_600,
  limits: { container: { minute: 60 }, token: { day: 100 } },
  timeout: "30s",
  net: ["api.example.com", "b.example.com:443", "[::1]:80"],
  packages: ["@acme/*", "lodash@4", "zod"],
  depth: 2,
  params: { plan: "free" },
};

test("a token below another has the requested members, and inherits the rest", async (t) => {
  const { issue, verifier, store: registry } = await testTokens(t);
  const head = await issue({ ...HEAD, fresh: true, selfRevoke: false }, "an administrator");
  const child = await issue({ containers: ["acme"] }, callerOf(head.claims));
  assert.deepEqual(child.claims, {
    ...head.claims,
    jti: child.jti,
    containers: ["acme"],
    can: ["run", "limits"],
    limits: { container: { minute: 60 } },
    depth: 0,
    parents: [head.jti],
  });
  assert.deepEqual((await verifier.verify(child.token)).claims, child.claims);
  assert.equal((await registry.issued(child.jti))?.issuedBy, head.jti);
});

test("a family has at most its head's depth of generations, and each token lists all tokens above it, nearest first", async (t) => {
  const { issue } = await testTokens(t);
  const chain = [(await issue({ ...HEAD, depth: 4 }, "an administrator")).claims];
  for (let depth = 3; depth >= 0; depth--) {
    chain.unshift((await issue({ containers: ["acme"], can: ALL, depth }, callerOf(chain[0]!))).claims);
  }
  assert.deepEqual(
    chain[0]!.parents,
    chain.slice(1).map(({ jti }) => jti),
  );
  const problem = await problemOf(() => issue({ containers: ["acme"] }, callerOf(chain[0]!)));
  assert.deepEqual([problem.code, membersOf(problem)], ["token_forbidden", ["depth"]]);
});

test("a token that an administrator issues is below no token, and is issued exactly as requested", async (t) => {
  const { issue } = await testTokens(t);
  const admin = await issue({ admin: true, exp: START_S + 60, net: false, limits: { token: { day: 1 } } }, "start");
  const { claims } = await issue({ admin: true, exp: null }, callerOf(admin.claims));
  assert.deepEqual([claims.parents, claims.exp, claims.net, claims.limits], [[], null, null, {}]);
});

test("a request must name verbs if the token above has none of the default verbs", async (t) => {
  const { issue } = await testTokens(t);
  const { claims } = await issue({ ...HEAD, can: ["issue"] }, "an administrator");
  const problem = await problemOf(() => issue({ containers: ["acme"] }, callerOf(claims)));
  assert.deepEqual([problem.code, membersOf(problem)], ["request_invalid", ["can"]]);
  const reading = await issue({ ...HEAD, can: ["limits", "issue"] }, "an administrator");
  assert.deepEqual((await issue({ containers: ["acme"] }, callerOf(reading.claims))).claims.can, ["limits"]);
});

test("a token may add a pin, and then runs only that code", async (t) => {
  const { issue } = await testTokens(t);
  const { claims } = await issue(HEAD, "an administrator");
  const code = { sha256: "a".repeat(64) };
  assert.deepEqual((await issue({ containers: ["acme"], code }, callerOf(claims))).claims.code, code);
});

test("a token may have a shorter timeout than the token above, and a longer one is named with its limit", async (t) => {
  const { issue } = await testTokens(t);
  const { claims } = await issue(HEAD, "an administrator");
  const child = await issue({ containers: ["acme"], timeout: "5s" }, callerOf(claims));
  assert.equal(child.claims.timeout, "5s");
  const problem = await problemOf(() => issue({ containers: ["acme"], timeout: "31s" }, callerOf(claims)));
  assert.match(problem.message, /timeout is longer than the timeout of the calling token, which is 30s/);
  const unlimited = await issue(asJson({ ...HEAD, timeout: undefined }), "an administrator");
  const below = await issue({ containers: ["acme"], timeout: "24d" }, callerOf(unlimited.claims));
  assert.deepEqual([unlimited.claims.timeout, below.claims.timeout], [null, "24d"]);
});

test("a token may permit fewer packages than the token above, or fewer of their versions, or none", async (t) => {
  const { issue } = await testTokens(t);
  const { claims } = await issue(HEAD, "an administrator");
  for (const packages of [["zod@4"], ["lodash@^4.17.0", "@acme/tools"], ["@acme/*"], false]) {
    const child = await issue({ containers: ["acme"], packages }, callerOf(claims));
    assert.deepEqual(child.claims.packages, Array.isArray(packages) ? packages.toSorted() : packages);
  }
  const none = await issue({ ...HEAD, packages: false }, "an administrator");
  assert.equal((await issue({ containers: ["acme"] }, callerOf(none.claims))).claims.packages, false);
  const problem = await problemOf(() => issue({ containers: ["acme"], packages: ["zod"] }, callerOf(none.claims)));
  assert.deepEqual([problem.code, membersOf(problem)], ["token_forbidden", ["packages"]]);
});

test("a token inherits params, and may add others", async (t) => {
  const { issue } = await testTokens(t);
  const { claims } = await issue({ ...HEAD, params: { plan: "pro", of: { a: [1] } } }, "an administrator");
  const child = await issue({ containers: ["acme"], params: { of: { a: [1] }, seat: 7 } }, callerOf(claims));
  assert.deepEqual(child.claims.params, { of: { a: [1] }, seat: 7, plan: "pro" });
});

const WIDER: [string, object, string[]][] = [
  ["an administrator", { containers: undefined, admin: true }, ["admin"]],
  ["an administrator without end", { containers: undefined, admin: true, exp: null }, ["admin", "exp"]],
  ["all containers", { containers: ["*"] }, ["containers.0"]],
  [
    "others",
    { containers: ["acme", "acme*", "acm", "acmes", "acm*", "b-*"] },
    [1, 2, 3, 4, 5].map((at) => `containers.${at}`),
  ],
  ["a later end", { exp: HEAD.exp + 1 }, ["exp"]],
  ["a longer life", { expiresIn: "2h" }, ["exp"]],
  ["a limit of containers that is higher", { limits: { container: { minute: 61 } } }, ["limits.container"]],
  ["a limit of containers that is lower", { limits: { container: { minute: 59 } } }, ["limits.container"]],
  ["another window", { limits: { container: { minute: 60, day: 9 } } }, ["limits.container"]],
  ["no window", { limits: { container: {} } }, ["limits.container"]],
  ["a longer timeout", { timeout: "30001ms" }, ["timeout"]],
  ["another place", { net: ["api.example.com", "evil.example.com"] }, ["net"]],
  ["another port", { net: ["b.example.com:80"] }, ["net"]],
  ["all ports", { net: ["b.example.com"] }, ["net"]],
  ["all ports of an address", { net: ["::1"] }, ["net"]],
  ["a package that is not listed", { packages: ["zod", "left-pad"] }, ["packages"]],
  ["a package with more versions", { packages: ["lodash"] }, ["packages"]],
  ["other versions of a package", { packages: ["lodash@3"] }, ["packages"]],
  ["another scope", { packages: ["@other/*"] }, ["packages"]],
  ["as many generations", { depth: 2 }, ["depth"]],
  ["other params", { params: { plan: "pro", other: 1 } }, ["params.plan"]],
];

describe("a token issues no token that exceeds it, and reports every excess", () => {
  for (const [name, changes, members] of WIDER) {
    test(name, async (t) => {
      const { issue } = await testTokens(t);
      const { claims } = await issue(HEAD, "an administrator");
      const problem = await problemOf(() => issue(asJson({ containers: ["acme"], ...changes }), callerOf(claims)));
      assert.deepEqual([problem.code, membersOf(problem)], ["token_forbidden", members]);
    });
  }

  test("verbs", async (t) => {
    const { issue } = await testTokens(t);
    const { claims } = await issue({ ...HEAD, can: ["run", "issue"] }, "an administrator");
    const problem = await problemOf(() => issue({ containers: ["acme"], can: ALL }, callerOf(claims)));
    assert.deepEqual([problem.code, membersOf(problem)], ["token_forbidden", ["can.1"]]);
  });

  test("any host, if the token above may reach none", async (t) => {
    const { issue } = await testTokens(t);
    const { claims } = await issue({ ...HEAD, net: false }, "an administrator");
    const problem = await problemOf(() => issue({ containers: ["acme"], net: ["api.example.com"] }, callerOf(claims)));
    assert.deepEqual([problem.code, membersOf(problem)], ["token_forbidden", ["net"]]);
  });

  test("all excesses at once", async (t) => {
    const { issue } = await testTokens(t);
    const { claims } = await issue(HEAD, "an administrator");
    const wide = { containers: ["b"], exp: HEAD.exp + 1, depth: 4, net: ["a"], limits: { container: { day: 1 } } };
    const problem = await problemOf(() => issue(wide, callerOf(claims)));
    assert.deepEqual(membersOf(problem), ["depth", "containers.0", "exp", "limits.container", "net"]);
    assert.match(problem.message, /the first of 5/);
  });
});

test("the faults of a request and its excesses over the token above are reported together", async (t) => {
  const { issue } = await testTokens(t);
  const secrets = { secrets: { KEY: "above" }, secretsReadable: true };
  const { claims } = await issue({ ...HEAD, ...secrets }, "an administrator");
  const wide = { can: ["run"], depth: 2, params: { KEY: 1, plan: "pro" } };
  const broken = { containers: ["a*b"], exp: "x", code: { url: "https://code.example/a.js" }, typo: 1 };
  const wrong = await problemOf(() => issue({ ...wide, ...broken, secrets: { plan: "x" } }, callerOf(claims)));
  const members = ["containers.0", "depth", "exp", "net", "params.KEY", "params.plan", "secrets.plan", "typo"];
  assert.deepEqual([wrong.code, membersOf(wrong).toSorted()], ["request_invalid", members]);
  assert.match(wrong.message, /has 8 faults/);
  const wider = await problemOf(() => issue({ ...wide, containers: ["b"] }, callerOf(claims)));
  const more = ["containers.0", "depth", "params.KEY", "params.plan"];
  assert.deepEqual([wider.code, membersOf(wider).toSorted()], ["token_forbidden", more]);
});

test("a token that is too long is reported together with the other faults", async (t) => {
  const { issue } = await testTokens(t);
  const { claims } = await issue(HEAD, "an administrator");
  const problem = await problemOf(() =>
    issue({ containers: ["b"], nbf: "x", params: { text: "x".repeat(8_192) } }, callerOf(claims)),
  );
  assert.deepEqual(
    [problem.code, membersOf(problem).toSorted()],
    ["request_invalid", ["containers.0", "nbf", "params"]],
  );
});

/** Names, patterns, times and destinations that overlap in part. */
const NAMES = ["acme", "acme-", "acme-1", "acme-12", "b", "a"];
const PATTERNS = [...NAMES, "acme-*", "acme-1*", "a*", "b*", "*"];
const PLACES = ["a.example", "a.example:443", "a.example:80", "b.example:80", "b.example", "::1", "[::1]:80"];
const anyParams = fc.record({ a: fc.nat(1), b: fc.nat(1), c: fc.nat(1) }, { requiredKeys: [], noNullPrototype: true });
const anyTimeout = fc.constantFrom("10ms", "999ms", "1s", "1001ms", "2s");
const anyRequest = fc.record(
  {
    admin: fc.constant(true),
    containers: fc.subarray(PATTERNS, { minLength: 1 }),
    can: fc.subarray(ALL, { minLength: 1 }),
    exp: fc.oneof(fc.integer({ min: START_S + 1, max: START_S + 50 }), fc.constant(null)),
    limits: fc.record(
      {
        container: fc.record({ minute: fc.integer({ min: 1, max: 3 }) }, { requiredKeys: [] }),
        token: fc.record({ minute: fc.integer({ min: 1, max: 9 }) }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    ),
    timeout: anyTimeout,
    net: fc.oneof(fc.constant(false), fc.subarray(PLACES, { minLength: 1 })),
    code: fc.constantFrom({ sha256: "a".repeat(64) }, { sha256: "b".repeat(64) }),
    fresh: fc.constant(true),
    params: anyParams,
    depth: fc.nat(4),
    selfRevoke: fc.boolean(),
  },
  { requiredKeys: ["containers"], noNullPrototype: true },
);
const headArbitrary = fc
  .record(
    {
      limits: fc.record({ token: fc.record({ minute: fc.integer({ min: 1, max: 8 }) }) }),
      depth: fc.integer({ min: 1, max: 4 }),
      timeout: anyTimeout,
      net: fc.oneof(fc.constant(false), fc.subarray(PLACES, { minLength: 1 })),
      fresh: fc.constant(true),
      params: anyParams,
      selfRevoke: fc.boolean(),
    },
    { requiredKeys: ["limits", "depth"], noNullPrototype: true },
  )
  .map((head) => ({ containers: ["acme-*", "b"], can: ALL, exp: START_S + 40, ...head }));
/** A request that is often permitted, so that families grow deep. */
const modestRequest = fc.record(
  {
    containers: fc.subarray(["acme-*", "acme-1*", "acme-12", "b"], { minLength: 1 }),
    can: fc.constant(ALL),
    limits: fc.record({ token: fc.record({ minute: fc.integer({ min: 1, max: 9 }) }) }),
    timeout: anyTimeout,
    net: fc.subarray(PLACES, { minLength: 1 }),
    depth: fc.nat(3),
  },
  { requiredKeys: ["containers", "can", "depth"], noNullPrototype: true },
);
/** The actor of each step, modulo the family's size, and its request. Often the youngest acts, so that families grow deep. */
const stepsArbitrary = fc.array(fc.tuple(fc.oneof(fc.nat(), fc.constant(-1)), fc.oneof(modestRequest, anyRequest)), {
  minLength: 10,
  maxLength: 40,
});

describe("no sequence of issues ever extends", () => {
  test("the permissions of a token", async (t) => {
    const { issue, verifier } = await testTokens(t);
    let deepest = 0;
    await fc.assert(
      fc.asyncProperty(headArbitrary, stepsArbitrary, async (head, steps) => {
        const family = [(await issue(head, "me")).claims];
        for (const [actor, input] of steps) {
          const above = family.at(actor % family.length)!;
          // Like the endpoint, which rejects a token without the verb `issue` first.
          if (!permitsVerb(above, "issue")) continue;
          const issued = await issuedOrNull(() => issue(input, callerOf(above)));
          if (!issued) continue;
          assert.deepEqual((await verifier.verify(issued.token)).claims, issued.claims);
          family.push(issued.claims);
          deepest = Math.max(deepest, issued.claims.parents.length);
          for (const ancestor of family.filter(({ jti }) => issued.claims.parents.includes(jti))) {
            assertWithin(issued.claims, ancestor);
          }
        }
      }),
      { numRuns: isLong ? 3_000 : 75 },
    );
    assert.ok(deepest >= 2, `families of ${deepest} generations prove little`);
  });

  test("the rate of a family: its tokens together run no more often than its head may", async (t) => {
    const { issue, store: registry } = await testTokens(t);
    await inFolder((folder) =>
      withStore(folder, { clock: new HandClock() }, async (store) => {
        const limiter = new Limiter(store, { container: {}, token: {} });
        let refused = 0;
        await fc.assert(
          fc.asyncProperty(
            headArbitrary,
            stepsArbitrary,
            fc.array(fc.nat(), { maxLength: 40 }),
            async (head, steps, runs) => {
              const family = [(await issue(head, "me")).claims];
              const most = (await registry.issued(family[0]!.jti))!.claims.limits.token!.minute!;
              for (const [actor, input] of steps) {
                const above = family.at(actor % family.length)!;
                const issued = permitsVerb(above, "issue") && (await issuedOrNull(() => issue(input, callerOf(above))));
                if (issued) family.push(issued.claims);
              }
              const done = new Map<string, number>();
              for (const actor of runs) {
                const claims = family[actor % family.length]!;
                const { admitted } = await limiter.admit("acme-1", await callerOf(claims, registry).limitSubject());
                if (!admitted) refused++;
                else for (const jti of [claims.jti, ...claims.parents]) done.set(jti, (done.get(jti) ?? 0) + 1);
              }
              assert.ok((done.get(family[0]!.jti) ?? 0) <= most);
              for (const { jti, limits } of family) {
                assert.ok((done.get(jti) ?? 0) <= (limits.token?.minute ?? Infinity), `${jti} ran too often`);
              }
            },
          ),
          { numRuns: isLong ? 1_000 : 60 },
        );
        assert.ok(refused > 50, `${refused} refusals prove little`);
      }),
    );
  });
});

test("a token with an ancestor unknown to this service gets no run, because its limits are unknown", async (t) => {
  const { issue } = await testTokens(t);
  const head = await issue(HEAD, "an administrator");
  const child = await issue({ containers: ["acme"] }, callerOf(head.claims));
  const elsewhere = await testTokens(t);
  const problem = await problemOf(() => callerOf(child.claims, elsewhere.store).limitSubject());
  assert.equal(problem.code, "token_invalid");
});

/** Compares permissions by the functions that the service uses, not by the text of the claims. */
function assertWithin(claims: Claims, above: Claims): void {
  const context = `${JSON.stringify(claims)} is below ${JSON.stringify(above)}`;
  assert.equal(claims.admin, false, context);
  for (const name of [...NAMES, "acme-123", "acme-x", "bb", "zz", "1"]) {
    assert.ok(!permitsContainer(claims, name) || permitsContainer(above, name), `${name}: ${context}`);
  }
  for (const verb of VERBS) assert.ok(!permitsVerb(claims, verb) || permitsVerb(above, verb), `${verb}: ${context}`);
  assert.ok(claims.exp !== null && claims.exp <= above.exp!, context);
  assert.deepEqual(claims.limits.container, above.limits.container, context);
  assert.ok(claims.depth < above.depth, context);
  assert.ok(callerOf(claims).timeoutMs <= callerOf(above).timeoutMs, context);
  for (const host of ["a.example", "b.example", "[::1]", "c.example"]) {
    for (const port of [80, 443, 1]) {
      assert.ok(!isNamed(claims, host, port) || isNamed(above, host, port), `${host}:${port}: ${context}`);
    }
  }
  if (above.code) assert.deepEqual(claims.code, above.code, context);
  for (const [name, value] of Object.entries(above.params)) assert.deepEqual(claims.params[name], value, context);
  assert.ok(claims.fresh || !above.fresh, context);
  assert.ok(!claims.selfRevoke || above.selfRevoke, context);
}

function isNamed({ net }: Claims, host: string, port: number): boolean {
  if (net === null || net === false) return net === null;
  return net.includes(`${host}:${port}`) || net.includes(host.replace(/^\[(.*)\]$/, "$1"));
}

async function issuedOrNull<T>(issue: () => Promise<T>): Promise<T | null> {
  try {
    return await issue();
  } catch (error) {
    assert.ok(error instanceof Problem && ["request_invalid", "token_forbidden"].includes(error.code), String(error));
    return null;
  }
}

/** Removes undefined members, which JSON cannot express. */
function asJson(input: object): unknown {
  return JSON.parse(JSON.stringify(input));
}

function membersOf(problem: Problem): string[] {
  return ((problem.options.violations ?? []) as MemberFault[]).map(({ member }) => member);
}
