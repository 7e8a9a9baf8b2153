import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { altered, decode, encode, signed } from "./jwt.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { type Service, shareService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;
/** A token for every container whose name begins with `acme-`, and for `solo`. */
let token: string;

before(async () => {
  service = await shareService();
  token = await service.issue({ containers: ["acme-*", "solo"] });
});
after(() => service.stop());

describe("the places for a token in a request", () => {
  it("are the Authorization header, with its scheme in any case, and key", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const headers = { authorization: `${scheme} ${token}` };
      assert.equal((await service.run("solo", "6 * 7", { token: null, headers })).text, "42");
    }
    assert.equal((await service.run("solo", "6 * 7", { token: null, query: { key: token } })).text, "42");
    const limits = await service.request("GET", "/api/limits/container/solo", { token: null, query: { key: token } });
    assert.equal(limits.status, 200);
  });

  it("exclude each other, even for the same token", async () => {
    assertProblem(await service.run("solo", "1", { token, query: { key: token } }), 400, "credentials_ambiguous");
    assertProblem(await service.run("solo", "1", { token, query: { key: "" } }), 400, "credentials_ambiguous");
    const limits = await service.request("GET", "/api/limits/container/solo", { token, query: { key: token } });
    assertProblem(limits, 400, "credentials_ambiguous");
  });

  for (const authorization of ["Basic YTpi", "Digest x", "Bearer", "Token x"]) {
    it(`do not include "${authorization}"`, async () => {
      assertProblem(await service.run("solo", "1", { token: null, headers: { authorization } }), 403, "token_missing");
    });
  }

  it("include key next to another scheme", async () => {
    const options = { token: null, headers: { authorization: "Basic YTpi" }, query: { key: token } };
    assert.equal((await service.run("solo", "6 * 7", options)).text, "42");
  });
});

describe("a token that is not valid", () => {
  it("is rejected if it is missing", async () => {
    for (const target of ["/api/limits/container/solo", "/api/limits/token/x", "/api/run/solo"]) {
      const answer = await service.request("GET", target, { token: null });
      assertProblem(answer, 403, "token_missing");
      assert.doesNotMatch(answer.headers["www-authenticate"]!, /error=/);
    }
  });

  const garbage = ["x", "a.b.c", "..", "a.b", "a.b.c.d", "{}", "null", "é", "x".repeat(8_000)];
  for (const text of garbage) {
    it(`is rejected: ${text.slice(0, 20)}`, async () => {
      const answers = await Promise.all([
        service.run("solo", "1", { token: null, query: { key: text } }),
        ...(text === "é" ? [] : [service.run("solo", "1", { token: text })]),
      ]);
      for (const answer of answers) {
        assertProblem(answer, 403, "token_invalid");
        assert.match(answer.headers["www-authenticate"]!, /error="invalid_token"/);
        if (text.length > 6) assert.ok(!answer.text.includes(text));
      }
    });
  }

  const forgeries: [string, () => string][] = [
    ["of another payload", () => altered(token, { payload: { admin: true, containers: undefined } })],
    ["of another jti", () => altered(token, { payload: { jti: "other" } })],
    [
      "without an algorithm",
      () => `${encode({ ...decode(token.split(".")[0]!), alg: "none" })}.${token.split(".")[1]}.`,
    ],
    ["without a signature", () => token.slice(0, token.lastIndexOf(".") + 1)],
    ["with its signature cut", () => token.slice(0, -2)],
    ["with its signature longer", () => `${token}AA`],
    ["with padding", () => `${token}==`],
    ["with an unknown kid", () => altered(token, { header: { kid: "unknown" } })],
    ["of another type", () => altered(token, { header: { typ: "JWT" } })],
    ["with crit", () => altered(token, { header: { crit: ["exp"] } })],
  ];
  for (const [what, forge] of forgeries) {
    it(`is rejected as forged: ${what}`, async () => {
      const forged = forge();
      const answer = await service.run("solo", "1", { token: forged });
      assertProblem(answer, 403, "token_invalid");
      assert.ok(!answer.text.includes(forged.slice(0, 40)));
    });
  }

  it("is rejected if it is signed by another key, named or embedded", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const [head, payload] = token.split(".").slice(0, 2).map(decode) as [object, object];
    const jwk = publicKey.export({ format: "jwk" });
    for (const header of [
      head,
      { ...head, jwk },
      { ...head, jku: "http://127.0.0.1/" },
      { ...head, x5u: "http://127.0.0.1/" },
    ]) {
      assertProblem(
        await service.run("solo", "1", { token: signed(header, payload, privateKey) }),
        403,
        "token_invalid",
      );
    }
  });

  it("is rejected if the public key is its secret", async () => {
    const { keys } = (await service.request("GET", "/.well-known/jwks.json")).json() as { keys: { x: string }[] };
    const text = `${encode({ ...decode(token.split(".")[0]!), alg: "HS256" })}.${token.split(".")[1]}`;
    for (const secret of [keys[0]!.x, Buffer.from(keys[0]!.x, "base64url"), JSON.stringify(keys[0])]) {
      const mac = createHmac("sha256", secret).update(text).digest("base64url");
      assertProblem(await service.run("solo", "1", { token: `${text}.${mac}` }), 403, "token_invalid");
    }
  });

  it("is rejected before its start, and accepted after it", async () => {
    const seconds = Math.floor(Date.now() / 1000);
    const early = await service.issue({ containers: ["solo"], nbf: seconds + 7 });
    assertProblem(await service.run("solo", "1", { token: early }), 403, "token_invalid");
    await until(async () => (await service.run("solo", "1", { token: early })).status === 200, "the token is valid");
    const later = Math.floor(Date.now() / 1000);
    assert.ok(later >= seconds + 1, "the leeway was more than 5 s");
  });

  it("is rejected after its expiry, even if it was used before", async () => {
    const shortLived = await service.issue({ containers: ["solo"], expiresIn: "1s" });
    assert.equal((await service.run("solo", "1", { token: shortLived })).status, 200);
    let last: Answer | undefined;
    await until(
      async () => (last = await service.run("solo", "1", { token: shortLived })).status !== 200,
      "the token has expired",
    );
    assert.match(assertProblem(last!, 403, "token_invalid").detail, /expired/);
  });

  it("is rejected with a different message for each cause", async () => {
    const revoked = await service.issue({ containers: ["solo"] });
    await service.request("DELETE", `/api/tokens/${jtiOf(revoked)}`);
    const early = await service.issue({ containers: ["solo"], nbf: 4_000_000_000, exp: 4_000_000_100 });
    const unknown = altered(token, { header: { kid: "unknown" } });
    const forged = altered(token, { payload: { jti: "other" } });
    const details = await Promise.all(
      [revoked, early, unknown, forged, "garbage"].map(async (text) => {
        return assertProblem(await service.run("solo", "1", { token: text }), 403, "token_invalid").detail;
      }),
    );
    assert.equal(new Set(details).size, details.length, details.join("; "));
  });
});

describe("a token without the permission", () => {
  it("runs in its containers and in no other", async () => {
    for (const name of ["solo", "acme-1", "acme-a.b@c", "acme-"]) {
      assert.equal((await service.run(name, "6 * 7", { token })).text, "42", name);
    }
    for (const name of ["acme", "acmes", "Solo", "solo-1", "xacme-1", "ACME-1"]) {
      const answer = await service.run(name, "1", { token });
      assertProblem(answer, 403, "token_forbidden");
      assert.match(answer.headers["www-authenticate"]!, /error="insufficient_scope"/);
      assertProblem(await service.request("GET", `/api/limits/container/${name}`, { token }), 403, "token_forbidden");
    }
  });

  it("can use only its verbs", async () => {
    const runs = await service.issue({ containers: ["solo"], can: ["run"] });
    const reads = await service.issue({ containers: ["solo"], can: ["limits"] });
    assert.equal((await service.run("solo", "6 * 7", { token: runs })).text, "42");
    assertProblem(await service.run("solo", "1", { token: reads }), 403, "token_forbidden");
    assert.equal((await service.request("GET", "/api/limits/container/solo", { token: reads })).status, 200);
    assertProblem(await service.request("GET", "/api/limits/container/solo", { token: runs }), 403, "token_forbidden");
  });

  it("resets nothing, and reads no other token's record", async () => {
    const target = `/api/limits/token/${jtiOf(token)}`;
    const another = await service.issue({ containers: ["*"] });
    assert.equal((await service.request("GET", target, { token })).status, 200);
    assertProblem(await service.request("GET", target, { token: another }), 403, "token_forbidden");
    assertProblem(await service.request("DELETE", target, { token }), 403, "token_forbidden");
    assertProblem(await service.request("DELETE", "/api/limits/container/solo", { token }), 403, "token_forbidden");
  });

  it("cannot find out whether a container or a token exists", async () => {
    await service.run("used", "1");
    const pairs = [
      ["/api/limits/container/used", "/api/limits/container/unused"],
      [`/api/limits/token/${jtiOf(service.admin)}`, `/api/limits/token/${crypto.randomUUID()}`],
      ["/api/run/used", "/api/run/unused"],
    ];
    for (const pair of pairs) {
      const [known, unknown] = await Promise.all(pair.map((target) => service.request("GET", target, { token })));
      assertProblem(known!, 403, "token_forbidden");
      assert.equal(withoutName(known!, pair[0]!), withoutName(unknown!, pair[1]!));
    }
  });
});

/** Returns the text of an answer without the name and the run id. */
function withoutName(answer: Answer, target: string): string {
  return answer.text.replaceAll(target.split("/").at(-1)!, "NAME").replace(/"run":"[^"]*"/, "");
}
