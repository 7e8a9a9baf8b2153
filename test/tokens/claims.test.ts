import assert from "node:assert/strict";
import { test } from "node:test";

import { type Claims, isJti, permitsContainer, permitsVerb, VERBS } from "../../src/tokens/claims.ts";

const CLAIMS: Claims = {
  jti: "7b0d6f4e-3c55-4b61-9a7f-1f4a1c2d3e4f",
  admin: false,
  containers: ["acme", "team-*"],
  can: ["run"],
  exp: 1,
  nbf: null,
  iat: 0,
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
};

test("an exact name permits only that container", () => {
  assert.equal(permitsContainer(CLAIMS, "acme"), true);
  for (const name of ["acme2", "Acme", "acm", "*", ""]) assert.equal(permitsContainer(CLAIMS, name), false, name);
});

test("a pattern permits every name with its prefix, including the prefix itself", () => {
  for (const name of ["team-", "team-a", "team-a.b@c"]) assert.equal(permitsContainer(CLAIMS, name), true, name);
  for (const name of ["team", "xteam-a"]) assert.equal(permitsContainer(CLAIMS, name), false, name);
});

test("a single star permits every container", () => {
  assert.equal(permitsContainer({ ...CLAIMS, containers: ["*"] }, "anything"), true);
});

test("a token permits only its verbs, and an administrative token all verbs", () => {
  assert.deepEqual(
    VERBS.filter((verb) => permitsVerb(CLAIMS, verb)),
    ["run"],
  );
  const admin = { ...CLAIMS, admin: true, containers: [], can: [] };
  assert.ok(VERBS.every((verb) => permitsVerb(admin, verb)));
  assert.ok(permitsContainer(admin, "anything"));
});

test("a jti is a UUID in lower case with nothing around it", () => {
  assert.equal(isJti(CLAIMS.jti), true);
  for (const text of ["", "x", CLAIMS.jti.toUpperCase(), `${CLAIMS.jti}\n`, `${CLAIMS.jti}0`, "../keys.json"]) {
    assert.equal(isJti(text), false, text);
  }
});
