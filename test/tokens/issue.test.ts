import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";

import * as fc from "fast-check";
import { decodeJwt, decodeProtectedHeader } from "jose";

import { Problem } from "../../src/errors.ts";
import type { MemberFault } from "../../src/members.ts";
import { issue } from "../../src/tokens/issue.ts";
import type { Payload } from "../../src/tokens/payload.ts";
import { SqliteTokenStore } from "../../src/tokens/stores/sqlite.ts";
import { callerOf, payload, problemOf, START_S, temporaryFolder, testTokens } from "./support.ts";

const DAY_S = 86_400;

test("a token has the requested members, and defaults for the rest", async (t) => {
  const tokens = await testTokens(t);
  const { token, jti, claims } = await tokens.issue({ containers: ["demo", "a-*"] }, "me");
  assert.deepEqual(claims, {
    jti,
    admin: false,
    containers: ["demo", "a-*"],
    can: ["run", "limits"],
    exp: START_S + DAY_S,
    nbf: null,
    iat: START_S,
    limits: {},
    timeout: null,
    net: null,
    packages: null,
    code: null,
    params: {},
    secretsReadable: false,
    fresh: false,
    depth: 0,
    selfRevoke: true,
    labels: {},
    description: null,
    task: null,
    parents: [],
  });
  assert.deepEqual((await tokens.verifier.verify(token)).claims, claims);
  assert.ok(Object.isFrozen(claims) && Object.isFrozen(claims.containers) && Object.isFrozen(claims.limits));
});

test("the token is a JWT with three header members and plain claims", async (t) => {
  const tokens = await testTokens(t);
  const limits = { container: { minute: 60 }, token: { day: 1_000 } };
  const { token, jti } = await tokens.issue(
    { containers: ["demo"], can: ["run"], nbf: START_S + 60, expiresIn: "12h", limits },
    "me",
  );
  assert.deepEqual(decodeProtectedHeader(token), { alg: "EdDSA", typ: "caisson+jwt", kid: tokens.keys.signing.kid });
  assert.deepEqual(
    decodeJwt(token),
    payload({ jti, exp: START_S + 43_200, nbf: START_S + 60, containers: ["demo"], can: ["run"], limits }),
  );
});

test("a request may contain every verb", async (t) => {
  const tokens = await testTokens(t);
  const can = ["run", "limits", "logs", "tasks", "issue"];
  const { token, claims } = await tokens.issue({ containers: ["demo"], can }, "me");
  assert.deepEqual([claims.can, (await tokens.verifier.verify(token)).claims.can], [can, can]);
});

test("net is stored in the token with each destination once and in one spelling, so that equal claims are equal", async (t) => {
  const tokens = await testTokens(t);
  const net = ["b.example:8443", "API.example.com.", "0x7f.1:80", "[0::1]:443", "api.example.com"];
  const { token, claims } = await tokens.issue({ containers: ["demo"], net }, "me");
  const canonical = ["127.0.0.1:80", "[::1]:443", "api.example.com", "b.example:8443"];
  assert.deepEqual(claims.net, canonical);
  assert.deepEqual(decodeJwt(token)["net"], canonical);
  assert.deepEqual((await tokens.verifier.verify(token)).claims.net, canonical);
  assert.ok(Object.isFrozen(claims.net));
  const none = await tokens.issue({ admin: true, net: false }, "me");
  assert.equal(decodeJwt(none.token)["net"], false);
  assert.equal((await tokens.verifier.verify(none.token)).claims.net, false);
});

test("a timeout is stored in the token in its shortest spelling", async (t) => {
  const tokens = await testTokens(t);
  for (const [given, stored] of [
    ["5s", "5s"],
    ["5000ms", "5s"],
    ["120s", "2m"],
    ["90s", "90s"],
    ["10ms", "10ms"],
    ["2147483647ms", "2147483647ms"],
  ] as const) {
    const { token, claims } = await tokens.issue({ containers: ["demo"], timeout: given }, "me");
    assert.deepEqual([claims.timeout, decodeJwt(token)["timeout"]], [stored, stored]);
    assert.equal((await tokens.verifier.verify(token)).claims.timeout, stored);
  }
  assert.equal("timeout" in decodeJwt((await tokens.issue({ containers: ["demo"] }, "me")).token), false);
});

test("a pin is stored in the token in one spelling, and fresh if requested", async (t) => {
  const tokens = await testTokens(t);
  const { token, claims } = await tokens.issue({ containers: ["demo"], code: { sha256: "AB".repeat(32) } }, "me");
  assert.deepEqual(claims.code, { sha256: "ab".repeat(32) });
  assert.deepEqual([claims.fresh, decodeJwt(token)["code"]], [false, { sha256: "ab".repeat(32) }]);
  assert.ok(Object.isFrozen(claims.code));
  const fresh = await tokens.issue({ containers: ["demo"], fresh: true }, "me");
  assert.equal((await tokens.verifier.verify(fresh.token)).claims.fresh, true);
  assert.equal("fresh" in decodeJwt(token), false);
});

test("a pin to a URL is stored in one spelling, with or without a digest", async (t) => {
  const tokens = await testTokens(t);
  const given = "HTTPS://Example.com:443/a b.js?v=1#here";
  const url = "https://example.com/a%20b.js?v=1";
  const { token, claims } = await tokens.issue({ containers: ["demo"], code: { url: given } }, "me");
  assert.deepEqual([claims.code, decodeJwt(token)["code"]], [{ url }, { url }]);
  assert.deepEqual((await tokens.verifier.verify(token)).claims.code, { url });
  const both = { url, sha256: "a".repeat(64) };
  assert.deepEqual((await tokens.issue({ containers: ["demo"], code: both }, "me")).claims.code, both);
});

test("a token that cannot reach the URL of its code is not issued", async (t) => {
  const tokens = await testTokens(t);
  const places: [string, unknown, boolean][] = [
    ["https://code.example/a.js", false, false],
    ["https://code.example/a.js", ["api.example"], false],
    ["https://code.example/a.js", ["code.example:80"], false],
    ["https://code.example/a.js", ["api.example", "CODE.example"], true],
    ["https://code.example./a.js", ["code.example:443"], true],
    ["http://[::1]/a.js", ["[0::1]:80"], true],
  ];
  for (const [url, net, works] of places) {
    const request = (): Promise<unknown> => tokens.issue({ containers: ["a"], code: { url }, net }, "me");
    if (works) await request();
    else assert.deepEqual(membersOf(await problemOf(request)), ["net"], `${url} ${JSON.stringify(net)}`);
  }
  const narrow = { containers: ["a"], can: ["run", "issue"], depth: 1, net: ["api.example"] };
  const { claims } = await tokens.issue(narrow, "me");
  const below = (): Promise<unknown> =>
    tokens.issue({ containers: ["a"], code: { url: "https://code.example/" } }, callerOf(claims));
  assert.deepEqual(membersOf(await problemOf(below)), ["net"]);
});

test("params are stored in the token unchanged", async (t) => {
  const tokens = await testTokens(t);
  const params = {
    plan: "pro",
    seats: 3,
    nested: { list: [null, true, { __proto: 1 }] },
    constructor: "c",
    "x.y-z": "",
  };
  const { token, claims } = await tokens.issue({ containers: ["demo"], params }, "me");
  assert.deepEqual([claims.params, decodeJwt(token)["params"]], [params, params]);
  const verified = await tokens.verifier.verify(token);
  assert.deepEqual(verified.claims.params, params);
  assert.ok(Object.isFrozen((verified.claims.params["nested"] as { list: unknown[] }).list));
  assert.equal("params" in decodeJwt((await tokens.issue({ containers: ["demo"], params: {} }, "me")).token), false);
});

test("an administrative token expires after a day too, unless exp is null", async (t) => {
  const tokens = await testTokens(t);
  assert.equal((await tokens.issue({ admin: true }, "me")).claims.exp, START_S + DAY_S);
  const { token, claims } = await tokens.issue({ admin: true, exp: null }, "me");
  assert.equal(claims.exp, null);
  assert.equal("exp" in decodeJwt(token), false);
});

test("the token is recorded before the caller receives it", async (t) => {
  const tokens = await testTokens(t);
  const { kid } = tokens.keys.signing;
  const { jti, claims } = await tokens.issue(
    { containers: ["demo"], limits: { token: { day: 5 } } },
    "an administrator",
  );
  const kept = { claims, issuedBy: "an administrator", issuedAt: START_S * 1_000, kids: [kid] };
  assert.deepEqual(tokens.store.issued(jti), kept);
});

const QUOTAS = { familyTokens: 9, admit: () => Promise.resolve() };

test("no token is issued if it cannot be recorded", async (t) => {
  const { keys, vault } = await testTokens(t);
  const store = SqliteTokenStore.open(join(await temporaryFolder(t), "tokens.sqlite"), 0);
  store.close();
  const times = { nowMs: START_S * 1_000, quotas: QUOTAS };
  const context = { keys, store, vault, issuedBy: "me", above: null, kidsAbove: [], ...times };
  const problem = await problemOf(() => issue({ containers: ["demo"] }, context));
  assert.equal(problem.code, "store_unavailable");
});

const FAULTS: [string, unknown, string[]][] = [
  ["nothing", null, [""]],
  ["a list", [], [""]],
  ["a text", "admin", [""]],
  ["an empty object", {}, ["containers"]],
  ["both scopes", { admin: true, containers: ["a"] }, ["containers"]],
  ["admin that is not true", { admin: false, containers: ["a"] }, ["admin"]],
  ["admin as text", { admin: "true" }, ["admin"]],
  ["an administrator with verbs", { admin: true, can: ["run"] }, ["can"]],
  ["no container", { containers: [] }, ["containers"]],
  ["containers as text", { containers: "a" }, ["containers"]],
  ["too many containers", { containers: Array.from({ length: 101 }, () => "a") }, ["containers"]],
  ["a million bad containers", { containers: Array.from({ length: 1_000_000 }, () => "*x") }, ["containers"]],
  [
    "names that are none",
    { containers: ["", " ", "../x", "a*b", "**", ".a", "-a", "a/b", "é", "a\n", "x".repeat(129), 5, null] },
    Array.from({ length: 13 }, (_, index) => `containers.${index}`),
  ],
  [
    "containers that do not fit in a token",
    { containers: Array.from({ length: 100 }, () => "x".repeat(128)) },
    ["containers"],
  ],
  ["no verb", { containers: ["a"], can: [] }, ["can"]],
  ["unknown verbs", { containers: ["a"], can: ["run", "fly", 5] }, ["can.1", "can.2"]],
  ["an end in the past", { containers: ["a"], exp: START_S - 1 }, ["exp"]],
  ["an end right now", { containers: ["a"], exp: START_S }, ["exp"]],
  ["an end in milliseconds", { containers: ["a"], exp: (START_S + 60) * 1_000 }, ["exp"]],
  ["half a second", { containers: ["a"], exp: START_S + 0.5 }, ["exp"]],
  ["an end as text", { containers: ["a"], exp: "tomorrow" }, ["exp"]],
  ["no end, for a token that is not administrative", { containers: ["a"], exp: null }, ["exp"]],
  ["two ends", { containers: ["a"], exp: START_S + 60, expiresIn: "1m" }, ["expiresIn"]],
  ["no lifetime", { containers: ["a"], expiresIn: "0s" }, ["expiresIn"]],
  ["a lifetime without unit", { containers: ["a"], expiresIn: "60" }, ["expiresIn"]],
  ["a lifetime as number", { containers: ["a"], expiresIn: 60 }, ["expiresIn"]],
  ["a lifetime past all calendars", { containers: ["a"], expiresIn: "9999999d" }, ["expiresIn"]],
  ["a lifetime longer than a number holds", { containers: ["a"], expiresIn: "999999999999d" }, ["expiresIn"]],
  ["a start at the end", { containers: ["a"], exp: START_S + 60, nbf: START_S + 60 }, ["nbf"]],
  ["a start after the default end", { containers: ["a"], nbf: START_S + 2 * DAY_S }, ["nbf"]],
  ["a negative start", { containers: ["a"], nbf: -1 }, ["nbf"]],
  ["limits as number", { containers: ["a"], limits: 5 }, ["limits"]],
  ["limits of nothing known", { containers: ["a"], limits: { minute: 5 } }, ["limits.minute"]],
  [
    "limits that are none",
    {
      containers: ["a"],
      limits: {
        container: { second: 0, minute: -1, hour: 1.5, day: "5", week: 1e300, month: null, year: 1 },
        token: [],
      },
    },
    [
      ...["second", "minute", "hour", "day", "week", "month", "year"].map((name) => `limits.container.${name}`),
      "limits.token",
    ],
  ],
  ["net that opens", { containers: ["a"], net: true }, ["net"]],
  ["net of null", { containers: ["a"], net: null }, ["net"]],
  ["net as text", { containers: ["a"], net: "api.example.com" }, ["net"]],
  ["net of no place", { containers: ["a"], net: [] }, ["net"]],
  ["net of too many places", { containers: ["a"], net: Array.from({ length: 101 }, () => "a") }, ["net"]],
  [
    "places that are none",
    { containers: ["a"], net: ["", "*", "*.a", "a:0", "https://a", "a b", "fe80::1%eth0", "a".repeat(300), 5, null] },
    Array.from({ length: 10 }, (_, index) => `net.${index}`),
  ],
  [
    "places that do not fit in a token",
    {
      containers: ["a"],
      net: Array.from({ length: 100 }, (_, index) => `${index}.${"x".repeat(60)}.${"y".repeat(60)}`),
    },
    ["net"],
  ],
  ["a timeout without a unit", { containers: ["a"], timeout: "5" }, ["timeout"]],
  ["a timeout as a number", { containers: ["a"], timeout: 5_000 }, ["timeout"]],
  ["a timeout of nothing", { containers: ["a"], timeout: null }, ["timeout"]],
  ["a timeout that is too short", { containers: ["a"], timeout: "9ms" }, ["timeout"]],
  ["a timeout longer than a timer", { containers: ["a"], timeout: "2147483648ms" }, ["timeout"]],
  ["fresh that is not true", { containers: ["a"], fresh: false }, ["fresh"]],
  ["a pin that is none", { containers: ["a"], code: "x" }, ["code"]],
  ["a pin to nothing", { containers: ["a"], code: {} }, ["code"]],
  ["a digest that is too short", { containers: ["a"], code: { sha256: "a".repeat(63) } }, ["code.sha256"]],
  ["a digest in Base64", { containers: ["a"], code: { sha256: `${"A+/".repeat(21)}=` } }, ["code.sha256"]],
  ["a pin to more than a digest", { containers: ["a"], code: { sha256: "a".repeat(64), sha1: "b" } }, ["code.sha1"]],
  ["a pin to a file", { containers: ["a"], code: { url: "file:///etc/passwd" } }, ["code.url"]],
  ["a pin to a path", { containers: ["a"], code: { url: "/a.js" } }, ["code.url"]],
  ["a pin to a URL with credentials", { containers: ["a"], code: { url: "https://a:b@c.example" } }, ["code.url"]],
  ["a pin to a long URL", { containers: ["a"], code: { url: `https://a.example/${"x".repeat(2_031)}` } }, ["code.url"]],
  ["a URL that gets long", { containers: ["a"], code: { url: `https://a.example/${" x".repeat(600)}` } }, ["code.url"]],
  ["params that are a list", { containers: ["a"], params: ["x"] }, ["params"]],
  ["params as text", { containers: ["a"], params: "x" }, ["params"]],
  [
    "names that are none",
    { containers: ["a"], params: { "": 1, "1a": 1, "a b": 1, ["__proto__"]: 1, ["x".repeat(65)]: 1, ok: 1 } },
    ["params.1a", "params.", "params.a b", "params.__proto__", `params.${"x".repeat(64)}`],
  ],
  ["secrets for free code", { containers: ["a"], secrets: { KEY: "v" } }, ["secrets"]],
  ["secrets that are a list", { containers: ["a"], secretsReadable: true, secrets: ["x"] }, ["secrets"]],
  [
    "secrets that are no texts",
    { containers: ["a"], secretsReadable: true, secrets: { a: 1, b: null, c: "x".repeat(16_385), "1": "x", ok: "" } },
    ["secrets.1", "secrets.a", "secrets.b", "secrets.c"],
  ],
  ["secretsReadable that is not true", { containers: ["a"], secretsReadable: false }, ["secretsReadable"]],
  ["too many params", { containers: ["a"], params: Object.fromEntries(many(101)) }, ["params"]],
  ["params that do not fit in a token", { containers: ["a"], params: { text: "x".repeat(8_192) } }, ["params"]],
  ["an administrator with a pin", { admin: true, code: { sha256: "a".repeat(64) } }, ["code"]],
  ["too many generations", { containers: ["a"], depth: 5 }, ["depth"]],
  ["half a generation", { containers: ["a"], depth: 0.5 }, ["depth"]],
  ["fewer generations than none", { containers: ["a"], depth: -1 }, ["depth"]],
  ["generations as text", { containers: ["a"], depth: "1" }, ["depth"]],
  ["an administrator with a depth", { admin: true, depth: 1 }, ["depth"]],
  ["selfRevoke as text", { containers: ["a"], selfRevoke: "no" }, ["selfRevoke"]],
  [
    "a pinned token that issues",
    { containers: ["a"], can: ["run", "issue"], code: { sha256: "a".repeat(64) } },
    ["can"],
  ],
  [
    "one whose pin is none",
    { containers: ["a"], can: ["run", "issue"], code: { sha256: "x" } },
    ["can", "code.sha256"],
  ],
  ["an unknown member", { containers: ["a"], scope: "x" }, ["scope"]],
  ["a member of the prototype", JSON.parse(`{"containers":["a"],"__proto__":{"admin":true}}`), ["__proto__"]],
  ["a member without a name, among others", { "": 1, exp: 1 }, ["", "containers", "exp"]],
  ["constructor", { containers: ["a"], constructor: 1 }, ["constructor"]],
];

describe("a faulty request for a token gets a problem that names the member", () => {
  for (const [name, input, members] of FAULTS) {
    test(name, async (t) => {
      const tokens = await testTokens(t);
      const problem = await problemOf(() => tokens.issue(input, "me"));
      assert.equal(problem.code, "request_invalid");
      assert.deepEqual(membersOf(problem).toSorted(), members.toSorted());
    });
  }
});

test("a member that the service sets and an unknown member have different messages", async (t) => {
  const tokens = await testTokens(t);
  for (const member of ["jti", "iss", "aud", "iat", "parents"]) {
    const problem = await problemOf(() => tokens.issue({ containers: ["a"], [member]: "x" }, "me"));
    assert.match(problem.message, new RegExp(`${member} is set by the service`));
  }
  const problem = await problemOf(() => tokens.issue({ containers: ["a"], secret: "x" }, "me"));
  assert.match(problem.message, /secret is not a known member/);
});

test("all faults are reported together, each with its member", async (t) => {
  const tokens = await testTokens(t);
  const input = {
    containers: ["a", "*b"],
    can: ["fly"],
    exp: "x",
    nbf: -1,
    limits: { token: { day: 0 } },
    code: {},
    jti: 1,
  };
  const problem = await problemOf(() => tokens.issue(input, "me"));
  assert.deepEqual(membersOf(problem).toSorted(), [
    "can.0",
    "code",
    "containers.1",
    "exp",
    "jti",
    "limits.token.day",
    "nbf",
  ]);
  assert.match(problem.message, /has 7 faults/);
});

test("the answer to nonsense stays small", async (t) => {
  const tokens = await testTokens(t);
  const input = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`${index}${"x".repeat(1_000)}`, 1]));
  const problem = await problemOf(() => tokens.issue(input, "me"));
  assert.ok(JSON.stringify([problem.message, problem.options.violations]).length < 20_000);
});

test("every request gets a valid token or a problem", async (t) => {
  const tokens = await testTokens(t);
  const member = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      "1h",
      "500ms",
      true,
      null,
      false,
      START_S + 5,
      ["a", "b-*"],
      ["run"],
      { token: { day: 1 } },
      {
        sha256: "a".repeat(64),
      },
    ),
  );
  const names = ["admin", "containers", "can", "exp", "expiresIn", "nbf", "limits", "net", "code", "params"];
  const requests = fc.record(Object.fromEntries(names.map((name) => [name, member])), { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(fc.oneof(requests, fc.jsonValue()), async (input) => {
      let token: string;
      try {
        ({ token } = await tokens.issue(input, "me"));
      } catch (error) {
        assert.ok(error instanceof Problem && error.code === "request_invalid" && membersOf(error).length > 0);
        return;
      }
      const nbf = "nbf" in decodeJwt(token) ? decodeJwt(token).nbf! : START_S;
      tokens.clock.nowMs = Math.max(nbf, START_S) * 1_000;
      assert.ok(await tokens.verifier.verify(token));
      tokens.clock.nowMs = START_S * 1_000;
    }),
    { numRuns: 300 },
  );
});

function many(count: number): [string, number][] {
  return Array.from({ length: count }, (_, index) => [`p${index}`, index]);
}

function membersOf(problem: Problem): string[] {
  const violations = (problem.options.violations ?? []) as MemberFault[];
  assert.ok(violations.every(({ detail }) => detail.length > 0));
  return violations.map(({ member }) => member);
}

test("secrets of a token are deleted if an ancestor is revoked during the issue, and no token is returned", async (t) => {
  const { issue: issueHere, keys, vault, store: registry, revoke, clock } = await testTokens(t);
  const head = await issueHere({ containers: ["acme"], can: ["run", "issue"], depth: 1 }, "me");
  let below = "";
  const slow = {
    record: async (kept: Payload, by: string, nowMs: number) => {
      below = kept.jti;
      await registry.record(kept, by, nowMs);
      await revoke(head.jti, "me");
    },
    revocation: async (jti: string) => registry.revocation(jti),
  };
  const input = { containers: ["acme"], secretsReadable: true, secrets: { KEY: "1" } };
  const times = { nowMs: clock.nowMs, quotas: QUOTAS };
  const context = { keys, vault, issuedBy: head.jti, above: callerOf(head.claims), ...times };
  const problem = await problemOf(() => issue(input, { ...context, store: slow as never }));
  assert.equal(problem.code, "token_invalid");
  assert.deepEqual(await vault.own({ jti: below, parents: [head.jti], exp: null }), {});
});
