import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { chmod, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { decode, signed } from "./jwt.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { type Home, leave, makeHome, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const ISSUER = "https://login.example.com";

let home: Home;
let jwks: string;
let service: Service;
let key: KeyObject;

/** Makes a new key the issuer's only one. */
async function publish(kid: string): Promise<KeyObject> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const text = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid, use: "sig" }] });
  await writeFile(`${jwks}.new`, text, { mode: 0o644 });
  await rename(`${jwks}.new`, jwks);
  return privateKey;
}

before(async () => {
  home = await makeHome();
  jwks = path.join(home.data, "../jwks.json");
  key = await publish("one");
  service = await startService(["--issuer", ISSUER, "--jwks", jwks, "--kill-revoked", "--log-level", "debug"], home);
});
after(() => leave(service, home));

function external(claims: object = {}, header: object = {}, by: KeyObject = key): string {
  const iat = Math.floor(Date.now() / 1_000);
  const times = { jti: randomUUID(), iat, exp: iat + 600 };
  const payload = { iss: ISSUER, aud: "caisson", ...times, containers: ["outside"], can: ["run", "limits"], ...claims };
  return signed({ alg: "EdDSA", typ: "caisson+jwt", kid: "one", ...header }, payload, by);
}

function introspect(token: string, by: string): Promise<Answer> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return service.request("POST", "/api/tokens/introspect", { token: by, headers, body: `token=${token}` });
}

describe("a token of the issuer that --issuer names", () => {
  it("runs where it says, within the limits that it says, and is told them", async () => {
    const token = external({ limits: { token: { hour: 1 } } });
    assertProblem(await service.run("inside", "1", { token }), 403, "token_forbidden");
    assert.equal((await service.run("outside", "6 * 7", { token })).text, "42");
    assertProblem(await service.run("outside", "1", { token }), 429, "token_limited");
    const record = await service.request("GET", `/api/limits/token/${jtiOf(token)}`, { token });
    assert.equal((record.json() as { hour: number }).hour, -1);
  });

  it("is introspected by itself and by administrators, and names its issuer", async () => {
    const token = external();
    for (const by of [token, service.admin]) {
      const answer = (await introspect(token, by)).json() as { active: boolean; iss: string };
      assert.deepEqual([answer.active, answer.iss], [true, ISSUER]);
    }
    assert.deepEqual((await introspect(token, external())).json(), { active: false });
  });

  it("is revoked by administrators and by itself, with the run that is in flight", async () => {
    const [token, other] = [external(), external()];
    const run = service.run(
      "outside",
      `console.log("has begun"); await new Promise(() => setInterval(() => {}, 1e3))`,
      {
        token,
      },
    );
    await service.logLine((line) => line.includes('"outside"') && line.includes("has begun"));
    assert.equal((await service.request("DELETE", `/api/tokens/${jtiOf(token)}`)).status, 200);
    assertProblem(await run, 403, "token_invalid");
    assert.equal((await service.request("DELETE", `/api/tokens/${jtiOf(other)}`, { token: other })).status, 200);
    for (const ended of [token, other]) {
      assertProblem(await service.run("outside", "1", { token: ended }), 403, "token_invalid");
    }
  });

  it("does not administer, issue, revoke others or become one that was issued here", async () => {
    const token = external();
    const own = await service.issue({ containers: ["outside"] });
    assertProblem(
      await service.request("POST", "/api/tokens", { token, json: { containers: ["outside"] } }),
      403,
      "token_forbidden",
    );
    assertProblem(await service.request("DELETE", `/api/tokens/${jtiOf(own)}`, { token }), 403, "token_forbidden");
    assertProblem(await service.request("DELETE", "/api/limits/container/outside", { token }), 403, "token_forbidden");
    const refused: [object, RegExp][] = [
      [{ admin: true, containers: undefined, can: undefined }, /administrative/],
      [{ can: ["run", "issue"], depth: 1 }, /may do more/],
      [{ parents: [jtiOf(own)] }, /descends from another/],
      [{ jti: jtiOf(own) }, /has the jti of one that was issued here/],
      [{ jti: jtiOf(service.admin) }, /has the jti of one that was issued here/],
    ];
    for (const [claims, message] of refused) {
      for (const answer of [
        await service.run("outside", "1", { token: external(claims) }),
        await service.request("DELETE", `/api/tokens/${jtiOf(own)}`, { token: external(claims) }),
      ]) {
        assert.match(assertProblem(answer, 403, "token_invalid").detail, message);
        assert.match(answer.headers["www-authenticate"]!, /error="invalid_token"/);
      }
    }
    assert.equal((await service.run("outside", "6 * 7", { token: own })).text, "42");
  });

  it("is not signed by the service's key, nor is the service's by the issuer's", async () => {
    const { kid } = decode(service.admin.split(".")[0]!) as { kid: string };
    for (const [claims, header] of [
      [{}, { kid }],
      [{ iss: "caisson" }, { kid }],
      [{ iss: "caisson" }, {}],
      [{ iss: "caisson", admin: true, containers: undefined, can: undefined }, { kid }],
      [{ iss: "https://login.example.com/" }, {}],
    ] as const) {
      const answer = await service.request("GET", "/api/limits/container/outside", { token: external(claims, header) });
      assertProblem(answer, 403, "token_invalid");
    }
    const published = await service.request("GET", "/.well-known/jwks.json");
    assert.deepEqual(
      (published.json() as { keys: { kid: string }[] }).keys.map((each) => each.kid),
      [kid],
      "what is published is the service's own",
    );
  });

  it("ends with the key that its issuer takes away, at once and with its runs, and new ones are taken", async () => {
    const token = external();
    const run = service.run("outside", `console.log("waits"); await new Promise(() => setInterval(() => {}, 1_000))`, {
      token,
    });
    await service.logLine((line) => line.includes('"outside"') && line.includes('"waits"'));
    const next = await publish("two");
    assert.match(
      assertProblem(await run, 403, "token_invalid").detail,
      /the key that the token was signed with was revoked/,
    );
    assertProblem(await service.run("outside", "1", { token }), 403, "token_invalid");
    await service.logLine((line) => line.includes("the keys of the issuer have changed"));
    key = next;
    assert.equal((await service.run("outside", "6 * 7", { token: external({}, { kid: "two" }) })).text, "42");
  });

  it("is taken by the keys that were read before, while the file cannot be used", async () => {
    await chmod(jwks, 0o666);
    const said = await service.logLine((line) => line.includes("the keys in force stay"));
    assert.match(said, /chmod go-w/);
    assert.equal((await service.run("outside", "6 * 7", { token: external({}, { kid: "two" }) })).text, "42");
    await chmod(jwks, 0o644);
    const next = await publish("three");
    await until(async () => {
      const token = external({}, { kid: "three" }, next);
      return (await service.run("outside", "6 * 7", { token })).status === 200;
    }, "the next key is taken");
  });
});

it("a start without the issuer's keys is refused, and says where they belong", async () => {
  const missing = path.join(home.data, "../none.json");
  await assert.rejects(
    startService(["--issuer", ISSUER, "--jwks", missing]),
    /there is no file .*none\.json; put the public keys/,
  );
  await assert.rejects(startService(["--issuer", ISSUER]), /--issuer and --jwks go together/);
});
