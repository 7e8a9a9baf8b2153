import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord, tokenRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";

const CHECKS = 4;
const LIMIT = ["--auth-limit", `hour=${CHECKS}`];
const PROXY = ["--trust-proxy", "127.0.0.0/8,10.0.0.0/8", "--trust-proxy", "2001:db8:aaaa::/48"];

/** Returns the headers that a proxy sends for a client. */
function from(client: string): { headers: Record<string, string> } {
  return { headers: { "x-forwarded-for": client } };
}

/** Sends a request with a token that no key has signed. */
function guess(service: Service, headers: Readonly<Record<string, string>>, method = "POST"): Promise<Answer> {
  const target = method === "POST" ? "/api/run/guessed" : "/api/containers";
  return service.request(method, target, { token: "a.guess", body: method === "POST" ? "1" : "", headers });
}

/** Sends invalid tokens until the address has no checks left, and then one more. */
async function exhaust(service: Service, headers: Readonly<Record<string, string>>): Promise<Answer> {
  for (let time = 0; time < CHECKS; time++) assertProblem(await guess(service, headers), 403, "token_invalid");
  return guess(service, headers);
}

describe("token checks from one address", () => {
  let service: Service;
  before(async () => {
    service = await startService([...NO_WALL, ...LIMIT, ...PROXY]);
  });
  after(() => service.stop());

  it("are rejected past the limit, with the exact wait, on every path that takes a token", async () => {
    const { headers } = from("192.0.2.1");
    const refused = await exhaust(service, headers);
    const problem = assertProblem(refused, 429, "auth_limited");
    assert.ok(problem.retryAfterMs! > 0 && problem.retryAfterMs! <= 3_600_000);
    assert.equal(problem.retryAfter, Math.ceil(problem.retryAfterMs! / 1_000));
    assert.equal(refused.headers["retry-after"], String(problem.retryAfter));
    assert.match(problem.detail, /4 token checks per hour/);
    assert.deepEqual(problem.violations, [
      { class: "address", window: "hour", limit: CHECKS, remaining: 0, retryAfterMs: problem.retryAfterMs },
    ]);
    assert.doesNotMatch(refused.text, /192\.0\.2|127\.0\.0|guess/);
    assert.equal(refused.headers["caisson-run"], undefined);
    assertProblem(await guess(service, headers, "GET"), 429, "auth_limited");
  });

  it("do not count a request without a token or a request with two tokens", async () => {
    const { headers } = from("192.0.2.2");
    for (let time = 0; time < CHECKS * 2; time++) {
      assertProblem(await service.request("GET", "/api/containers", { token: null, headers }), 403, "token_missing");
      const twice = await service.request("GET", "/api/containers?key=a", { token: "b", headers });
      assertProblem(twice, 400, "credentials_ambiguous");
    }
    assertProblem(await guess(service, headers), 403, "token_invalid");
  });

  it("accept a token that was checked lately, even if its address has no checks left", async () => {
    const { headers } = from("192.0.2.3");
    const token = await service.issue({ containers: ["*"] });
    assert.equal((await service.run("known", "6 * 7", { token })).text, "42");
    assertProblem(await exhaust(service, headers), 429, "auth_limited");
    for (let time = 0; time < CHECKS * 2; time++) {
      assert.equal((await service.run("known", "6 * 7", { token, headers })).text, "42");
    }
    assert.equal((await service.request("GET", "/api/containers", { headers })).status, 200);
  });

  it("count a valid token that is new, and count a burst of it once", async () => {
    const { headers } = from("192.0.2.4");
    const tokens = await Promise.all(Array.from({ length: CHECKS + 1 }, () => service.issue({ containers: ["*"] })));
    for (const token of tokens.slice(0, CHECKS)) {
      const target = "/api/limits/container/burst";
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => service.request("GET", target, { token, headers })),
      );
      for (const { status } of answers) assert.equal(status, 200);
    }
    const late = await service.run("burst", "1", { token: tokens.at(-1)!, headers });
    assertProblem(late, 429, "auth_limited");
    assert.equal((await service.run("burst", "1", { token: tokens.at(-1)!, ...from("192.0.2.5") })).status, 200);
  });

  it("consume no limit of a container or a token", async () => {
    const limits = { container: { day: 9 }, token: { day: 9 } };
    const token = await service.issue({ containers: ["*"], limits });
    const { headers } = from("192.0.2.6");
    await exhaust(service, headers);
    assertProblem(await service.run("unconsumed", "1", { token, headers }), 429, "auth_limited");
    assert.deepEqual(await containerRecord(service, "unconsumed", token), limitRecord({ day: 9 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ day: 9 }));
  });

  it("share one limit for all spellings of an address, and for the /64 of an IPv6 address", async () => {
    const spellings = [
      ["198.51.100.1", "198.51.100.1:1", "::ffff:198.51.100.1", "[::ffff:c633:6401]:9", "198.51.100.1"],
      ["2001:db8:1:2::1", "2001:DB8:1:2::1", "[2001:db8:1:2:ffff::]:443", "2001:db8:1:2:0:0:0:9", "2001:db8:1:2::"],
    ];
    for (const spelt of spellings) {
      const statuses = [];
      for (const client of spelt) statuses.push((await guess(service, from(client).headers)).status);
      assert.deepEqual(statuses, [403, 403, 403, 403, 429], spelt[0]);
    }
    for (const other of ["198.51.100.2", "2001:db8:1:3::1"]) {
      assertProblem(await guess(service, from(other).headers), 403, "token_invalid");
    }
  });

  it("ignore what the client claims about its address", async () => {
    const lies = ["9.9.9.1, ", "9.9.9.2, x, ", '"', "unknown, "];
    for (const [at, lie] of [...lies, "9.9.9.3,,"].entries()) {
      const answer = await guess(service, from(`${lie}203.0.113.1`.replace('"203', '", 203')).headers);
      assert.equal(answer.status, at < CHECKS ? 403 : 429, lie);
    }
    const elements = ["for=9.9.9.1, ", 'for="9.9.9.2, ', 'for="\\", ', ";,"];
    for (const [at, lie] of [...elements, 'for="x", '].entries()) {
      const answer = await guess(service, { forwarded: `${lie}for="203.0.113.2:${8_000 + at}"` });
      assert.equal(answer.status, at < CHECKS ? 403 : 429, lie);
    }
  });

  it("count for the client behind a chain of trusted proxies", async () => {
    for (let time = 0; time <= CHECKS; time++) {
      const answer = await guess(service, from(`9.9.9.${time}, 203.0.113.3, 10.1.2.${time}, 2001:db8:aaaa::1`).headers);
      assert.equal(answer.status, time < CHECKS ? 403 : 429);
    }
  });

  it("log the address of a client, and log a throttled client once", async () => {
    const { headers } = from("203.0.113.77");
    await exhaust(service, headers);
    await guess(service, headers);
    const line = await service.logLine((text) => text.includes("203.0.113.77"));
    assert.match(line, /"code":"auth_limited"/);
    assert.equal(service.stderr().split("203.0.113.77").length, 2);
    assert.equal((await service.run("logged", "throw 1", from("203.0.113.78"))).status, 500);
    assert.match(await service.logLine((text) => text.includes("203.0.113.78")), /"container":"logged"/);
    await service.request("DELETE", "/api/limits/container/logged", from("203.0.113.79"));
    assert.match(await service.logLine((text) => text.includes("203.0.113.79")), /limits reset/);
    assert.doesNotMatch(service.stderr(), /ignored/);
  });

  // This test is the last of the group, because it uses up the checks of the proxy's own address.
  it("count for the proxy if it forwards no readable address, or two different addresses", async () => {
    while ((await guess(service, {})).status === 403);
    const unusable: Record<string, string>[] = [
      { "x-forwarded-for": "unknown" },
      { "x-forwarded-for": "9.9.9.9, 127.0.0.1:x" },
      { forwarded: "for=_hidden" },
      { forwarded: "nonsense" },
      { forwarded: "for=9.9.9.9", "x-forwarded-for": "9.9.9.8" },
    ];
    for (const headers of unusable) assertProblem(await guess(service, headers), 429, "auth_limited");
    const agreed = { forwarded: "for=203.0.113.9", "x-forwarded-for": "203.0.113.9" };
    assertProblem(await guess(service, agreed), 403, "token_invalid");
  });
});

describe("without a trusted proxy", () => {
  it("the service ignores forwarded addresses, on loopback too, and logs that once", async () => {
    const service = await startService([...NO_WALL, ...LIMIT]);
    try {
      for (let time = 0; time < CHECKS; time++) {
        const headers = { "x-forwarded-for": `192.0.2.${time}`, forwarded: `for=192.0.2.${time}` };
        assertProblem(await guess(service, headers), 403, "token_invalid");
      }
      assertProblem(await guess(service, from("192.0.2.99").headers), 429, "auth_limited");
      await service.logLine((text) => text.includes("auth_limited") && text.includes('"client":"127.0.0.1"'));
      assert.equal(service.stderr().split("is ignored").length, 2);
      assert.match(service.stderr(), /X-Forwarded-For of a request is ignored: .*--trust-proxy/);
      assert.doesNotMatch(service.stderr(), /192\.0\.2/);
    } finally {
      await service.stop();
    }
  });

  it("the service checks a flood of tokens up to the limit and no further", async () => {
    const service = await startService([...NO_WALL, "--auth-limit", "minute=300"]);
    try {
      const answers = await Promise.all(
        Array.from({ length: 310 }, (_, at) => {
          return service.request("GET", "/api/containers", { token: `guess-${at}` });
        }),
      );
      assert.equal(answers.filter(({ status }) => status === 403).length, 300);
      assert.equal(answers.filter(({ status }) => status === 429).length, 10);
    } finally {
      await service.stop();
    }
  });
});
