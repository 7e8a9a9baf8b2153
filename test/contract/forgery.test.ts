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
/** Where a forgery says that its key can be had. */
let keys = "";
let asked = 0;
const server = createServer((_, response) => {
  asked++;
  response.end();
});

before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  keys = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys.json`;
  // Debug: what is ever logged is logged.
  service = await startService([...NO_WALL, "--log-level", "debug", "--egress-allow", new URL(keys).host]);
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

/** With a header of its own, under the old signature. */
function headed(header: object): () => string {
  return () => altered(token, { header });
}

/** Signed by its own key, with a header that says where that can be had. */
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

/** RFC 8725, and what came after it. Unit tests have more of each; here is held what the service answers and does. */
const ATTACKS: [string, () => string][] = [
  ...["none", "None", "NONE", "nOnE"].flatMap((alg): (typeof ATTACKS)[number][] => [
    [`alg ${alg}, with a signature`, headed({ alg })],
    [`alg ${alg}, without one`, () => `${encode({ ...parts()[0], alg })}.${token.split(".")[1]}.`],
  ]),
  ["the public key as a secret", hmac],
  ["another algorithm", headed({ alg: "RS256" })],
  ["another type", headed({ typ: "at+jwt" })],
  ["an embedded key", selfSigned(() => ({ jwk: own.publicKey.export({ format: "jwk" }) }))],
  ["jku", selfSigned(() => ({ jku: keys }))],
  ["x5u", selfSigned(() => ({ x5u: keys }))],
  ["a kid that is an address", selfSigned(() => ({ kid: keys }))],
  ["a kid that is a path", selfSigned(() => ({ kid: "../../../../../dev/null" }))],
  ["a kid that is a command", selfSigned(() => ({ kid: "x' OR '1'='1" }))],
  ["a kid of the prototype", selfSigned(() => ({ kid: "__proto__" }))],
  ["a kid that is no text", selfSigned(() => ({ kid: ["x"] }))],
  ["crit", headed({ crit: ["exp"] })],
  ["crit and b64", headed({ crit: ["b64"], b64: false })],
  ["compression", headed({ zip: "DEF" })],
  ["a nested token", headed({ cty: "JWT" })],
  ["an encrypted token", () => ["e30", "e30", "e30", "e30", "e30"].join(".")],
  ["the JSON serialization", () => JSON.stringify({ payload: token.split(".")[1], signatures: [] })],
  ["an end that no number holds", () => altered(token, { payload: { exp: 1e308 } })],
  ["a member twice", () => token.replace(/^[^.]+/, Buffer.from('{"alg":"none","alg":"EdDSA"}').toString("base64url"))],
  ["a huge token", () => `${token}${"A".repeat(12_000)}`],
  ["nothing but dots", () => ".".repeat(12_000)],
];

describe("a forged token is 403 with one challenge, wherever it is sent", () => {
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

  it("and nobody is asked for a key", () => {
    assert.equal(asked, 0);
  });

  it("which tells no two tokens apart that are wrong for the same cause", async () => {
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
