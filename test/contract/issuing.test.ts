import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

interface Issued {
  token: string;
  jti: string;
  claims: Record<string, unknown>;
}

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

function post(claims: unknown): Promise<Answer> {
  return service.request("POST", "/api/tokens", { json: claims });
}

function nowS(): number {
  return Math.floor(Date.now() / 1000);
}

async function issued(claims: unknown): Promise<Issued> {
  const answer = await post(claims);
  assert.equal(answer.status, 201, answer.text);
  return answer.json() as Issued;
}

/** Returns the expiry of a token for one container with these claims. */
async function expOf(claims: object): Promise<unknown> {
  return (await issued({ containers: ["a"], ...claims })).claims["exp"];
}

describe("POST /api/tokens", () => {
  it("returns the token, its jti and its claims", async () => {
    const answer = await post({
      containers: ["acme", "acme-*"],
      limits: { container: { minute: 60 }, token: { day: 1000 } },
    });
    assert.equal(answer.status, 201);
    assert.match(answer.headers["content-type"]!, /^application\/json/);
    assert.equal(answer.headers["cache-control"], "no-store");
    const { token, jti, claims } = answer.json() as Issued;
    assert.equal(token.split(".").length, 3);
    assert.deepEqual(claims["containers"], ["acme", "acme-*"]);
    assert.deepEqual(claims["limits"], { container: { minute: 60 }, token: { day: 1000 } });
    assert.equal(claims["jti"], jti);
    assert.deepEqual(claims["can"], ["run", "limits"]);
    assert.deepEqual(claims["parents"], []);
  });

  it("creates a compact JWT of type caisson+jwt, signed by a key that the service publishes", async () => {
    const { token } = await issued({ containers: ["*"] });
    const header = JSON.parse(Buffer.from(token.split(".")[0]!, "base64url").toString()) as Record<string, string>;
    assert.equal(`${header["alg"]} ${header["typ"]}`, "EdDSA caisson+jwt");
    const { keys } = (await service.request("GET", "/.well-known/jwks.json")).json() as {
      keys: Record<string, string>[];
    };
    const jwk = keys.find((key) => key["kid"] === header["kid"])!;
    const key = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
    const at = token.lastIndexOf(".");
    const signature = Buffer.from(token.slice(at + 1), "base64url");
    assert.ok(await crypto.subtle.verify("Ed25519", key, signature, Buffer.from(token.slice(0, at))));
  });

  it("issues for 24 h by default, and for the requested time otherwise", async () => {
    const near = async (claims: object, seconds: number): Promise<void> => {
      const off = Number(await expOf(claims)) - nowS() - seconds;
      assert.ok(Math.abs(off) <= 5, `${off} s off`);
    };
    await near({}, 86_400);
    await near({ expiresIn: "12h" }, 43_200);
    await near({ expiresIn: "90s" }, 90);
    await near({ expiresIn: "7d" }, 604_800);
    const at = nowS() + 1000;
    assert.equal(await expOf({ exp: at }), at);
  });

  it("issues tokens without expiry to administrators that request it", async () => {
    const { token, claims } = await issued({ admin: true, exp: null });
    assert.equal(claims["exp"] ?? null, null);
    assert.equal((await service.request("DELETE", "/api/limits/container/a", { token })).status, 200);
  });

  const wrong: [string, unknown][] = [
    ["neither admin nor containers", {}],
    ["both admin and containers", { admin: true, containers: ["a"] }],
    ["admin that is not true", { admin: false }],
    ["admin that is a string", { admin: "true" }],
    ["no container", { containers: [] }],
    ["containers that are not a list", { containers: "a" }],
    ["a container that is not a string", { containers: [1] }],
    ["a container that is not a name", { containers: ["-a"] }],
    ["a container with a star inside", { containers: ["a*b"] }],
    ["a container with two stars", { containers: ["**"] }],
    ["a regular expression", { containers: ["/a.*/"] }],
    ["an exp in the past", { containers: ["a"], exp: 1_000_000_000 }],
    ["an exp that is not a whole number", { containers: ["a"], exp: 4_000_000_000.5 }],
    ["an exp that is a string", { containers: ["a"], exp: "4000000000" }],
    ["exp null without admin", { containers: ["a"], exp: null }],
    ["exp and expiresIn", { containers: ["a"], exp: 4_000_000_000, expiresIn: "1h" }],
    ["expiresIn without a unit", { containers: ["a"], expiresIn: "12" }],
    ["expiresIn that is a number", { containers: ["a"], expiresIn: 12 }],
    ["expiresIn of zero", { containers: ["a"], expiresIn: "0s" }],
    ["expiresIn that is negative", { containers: ["a"], expiresIn: "-1h" }],
    ["nbf that is a string", { containers: ["a"], nbf: "soon" }],
    ["can with an unknown verb", { containers: ["a"], can: ["fly"] }],
    ["can that is not a list", { containers: ["a"], can: "run" }],
    ["limits of an unknown class", { containers: ["a"], limits: { tokens: { day: 1 } } }],
    ["limits of an unknown window", { containers: ["a"], limits: { token: { days: 1 } } }],
    ["a limit of 0", { containers: ["a"], limits: { token: { day: 0 } } }],
    ["a negative limit", { containers: ["a"], limits: { token: { day: -1 } } }],
    ["a limit that is not a whole number", { containers: ["a"], limits: { token: { day: 1.5 } } }],
    ["a limit that is a string", { containers: ["a"], limits: { token: { day: "1" } } }],
    ["limits that are a list", { containers: ["a"], limits: [] }],
    ["an unknown member", { containers: ["a"], contaners: ["b"] }],
    ["a jti", { containers: ["a"], jti: "mine" }],
    ["an iss", { containers: ["a"], iss: "me" }],
    ["an aud", { containers: ["a"], aud: "me" }],
    ["an iat", { containers: ["a"], iat: 1 }],
    ["parents", { containers: ["a"], parents: [] }],
    ["a list", []],
    ["null", null],
    ["a string", "containers"],
  ];
  for (const [what, claims] of wrong) {
    it(`rejects ${what}`, async () => {
      assertProblem(await post(claims), 400, "request_invalid");
    });
  }

  it("reports all faults at once", async () => {
    const claims = {
      containers: ["a*b"],
      exp: 1,
      nbf: "soon",
      limits: { token: { days: 1, day: 0 } },
      jti: "mine",
      typo: 1,
    };
    const problem = assertProblem(await post(claims), 400, "request_invalid");
    assert.ok(problem.violations!.length >= 7, JSON.stringify(problem.violations));
    for (const name of ["containers", "exp", "nbf", "days", "day", "jti", "typo"]) {
      assert.match(JSON.stringify(problem), new RegExp(`\\b${name}\\b`));
    }
  });

  for (const body of ["", "{", '{"containers":["a"]', "containers=a", "\u0000"]) {
    it(`rejects a body that is not JSON: ${JSON.stringify(body)}`, async () => {
      const headers = { "content-type": "application/json" };
      assertProblem(await service.request("POST", "/api/tokens", { body, headers }), 400, "request_invalid");
    });
  }

  it("is for administrators, and for tokens that may issue", async () => {
    const token = await service.issue({ containers: ["*"] });
    assertProblem(
      await service.request("POST", "/api/tokens", { token, json: { containers: ["a"] } }),
      403,
      "token_forbidden",
    );
    assertProblem(await service.request("POST", "/api/tokens", { token: null, json: {} }), 403, "token_missing");
    assertProblem(await service.request("POST", "/api/tokens", { token: "x", json: {} }), 403, "token_invalid");
  });
});

describe("DELETE /api/tokens/{jti}", () => {
  it("revokes at once and for good, even a token in use", async () => {
    const { token, jti } = await issued({ containers: ["*"] });
    assert.equal((await service.run("a", "6 * 7", { token })).text, "42");
    for (let time = 0; time < 2; time += 1) {
      assert.equal((await service.request("DELETE", `/api/tokens/${jti}`)).status, 200);
      assertProblem(await service.run("a", "1", { token }), 403, "token_invalid");
      assertProblem(await service.request("GET", `/api/limits/token/${jti}`, { token }), 403, "token_invalid");
    }
    assert.equal((await service.run("a", "6 * 7")).text, "42");
  });

  it("is not allowed for unrelated tokens", async () => {
    const [mine, theirs] = [await issued({ containers: ["*"] }), await issued({ containers: ["*"] })];
    const target = `/api/tokens/${theirs.jti}`;
    assertProblem(await service.request("DELETE", target, { token: mine.token }), 403, "token_forbidden");
    assertProblem(await service.request("DELETE", target, { token: null }), 403, "token_missing");
    assert.equal((await service.run("a", "6 * 7", { token: theirs.token })).text, "42");
  });

  it("revokes an administrator's token for another administrator", async () => {
    const { token, jti } = await issued({ admin: true });
    assert.equal((await service.request("DELETE", `/api/tokens/${jti}`)).status, 200);
    assertProblem(
      await service.request("POST", "/api/tokens", { token, json: { containers: ["a"] } }),
      403,
      "token_invalid",
    );
  });
});
