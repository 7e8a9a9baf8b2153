import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";

import { altered, decode, encode, signed } from "./jwt.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";

let service: Service;
let token: string;
/** The URL at which a forged token claims that its key is. */
let keysUrl = "";
let keyRequests = 0;
const server = createServer((_, response) => {
  keyRequests++;
  response.end();
});

before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  keysUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys.json`;
  // At the level debug, the log contains everything that is ever logged.
  service = await startService([...NO_WALL, "--log-level", "debug", "--egress-allow", new URL(keysUrl).host]);
  token = await service.issue({ containers: ["solo"] });
});
after(async () => {
  server.close();
  await service.stop();
});

const own = generateKeyPairSync("ed25519");

function parts(): [object, object] {
  return token.split(".").slice(0, 2).map(decode) as [object, object];
}

/** Replaces the header under the old signature. */
function headed(header: object): () => string {
  return () => altered(token, { header });
}

/** Signs a token with the attacker's key, with a header that names a place of that key. */
function selfSigned(header: () => object): () => string {
  return () => {
    const [head, payload] = parts();
    return signed({ ...head, ...header() }, { ...payload, containers: ["*"] }, own.privateKey);
  };
}

function hmac(): string {
  const text = `${encode({ ...parts()[0], alg: "HS256" })}.${token.split(".")[1]}`;
  return `${text}.${createHmac("sha256", own.publicKey.export({ type: "spki", format: "pem" }))
    .update(text)
    .digest("base64url")}`;
}

/**
 * The attacks of RFC 8725 and later ones. Unit tests have more of each; this file tests the answers and actions of
 * the service.
 */
const ATTACKS: [string, () => string][] = [
  ...["none", "None", "NONE", "nOnE"].flatMap((alg): (typeof ATTACKS)[number][] => [
    [`alg ${alg}, with a signature`, headed({ alg })],
    [`alg ${alg}, without one`, () => `${encode({ ...parts()[0], alg })}.${token.split(".")[1]}.`],
  ]),
  ["the public key as a secret", hmac],
  ["another algorithm", headed({ alg: "RS256" })],
  ["another type", headed({ typ: "at+jwt" })],
  ["an embedded key", selfSigned(() => ({ jwk: own.publicKey.export({ format: "jwk" }) }))],
  ["jku", selfSigned(() => ({ jku: keysUrl }))],
  ["x5u", selfSigned(() => ({ x5u: keysUrl }))],
  ["a kid that is an address", selfSigned(() => ({ kid: keysUrl }))],
  ["a kid that is a path", selfSigned(() => ({ kid: "../../../../../dev/null" }))],
  ["a kid that is a command", selfSigned(() => ({ kid: "x' OR '1'='1" }))],
  ["a kid of the prototype", selfSigned(() => ({ kid: "__proto__" }))],
  ["a kid that is not a string", selfSigned(() => ({ kid: ["x"] }))],
  ["crit", headed({ crit: ["exp"] })],
  ["crit and b64", headed({ crit: ["b64"], b64: false })],
  ["compression", headed({ zip: "DEF" })],
  ["a nested token", headed({ cty: "JWT" })],
  ["an encrypted token", () => ["e30", "e30", "e30", "e30", "e30"].join(".")],
  ["the JSON serialization", () => JSON.stringify({ payload: token.split(".")[1], signatures: [] })],
  ["an expiry that is too large for a date", () => altered(token, { payload: { exp: 1e308 } })],
  [
    "a duplicate member",
    () => token.replace(/^[^.]+/, Buffer.from('{"alg":"none","alg":"EdDSA"}').toString("base64url")),
  ],
  ["a huge token", () => `${token}${"A".repeat(12_000)}`],
  ["nothing but dots", () => ".".repeat(12_000)],
];

describe("a forged token is 403 with the same challenge on every path", () => {
  for (const [name, forge] of ATTACKS) {
    it(name, async () => {
      const forged = forge();
      const start = service.stderr().length;
      const details = new Set<string>();
      for (const [method, target] of [
        ["POST", "/api/run/solo"],
        ["GET", "/api/limits/container/solo"],
        ["POST", "/api/tokens"],
        ["GET", "/api/tokens"],
      ] as const) {
        const json = method === "POST" ? { json: {} } : {};
        const answer = await service.request(method, target, { token: forged.replaceAll(/\s/g, ""), ...json });
        details.add(assertProblem(answer, 403, "token_invalid").detail);
        assert.equal(answer.headers["www-authenticate"], 'Bearer realm="caisson", error="invalid_token"');
        assert.equal(answer.headers["caisson-run"], undefined);
        assertHides(answer.text + JSON.stringify(answer.headers), forged);
      }
      assert.equal(details.size, 1, [...details].join("; "));
      assertHides(service.stdout() + service.stderr().slice(start), forged);
    });
  }

  it("the service requests no key from another server", () => {
    assert.equal(keyRequests, 0);
  });

  it("the answer is the same for two tokens that are invalid for the same reason", async () => {
    const bodies = [];
    for (const jti of [crypto.randomUUID(), crypto.randomUUID()]) {
      const forged = altered(token, { payload: { jti } });
      bodies.push((await service.request("GET", "/api/tokens", { token: forged })).text);
    }
    assert.equal(bodies[0], bodies[1]);
  });
});

function assertHides(text: string, forged: string): void {
  for (const part of forged.split(/[.:{}",]+/)) assert.ok(part.length < 16 || !text.includes(part), part.slice(0, 20));
}
