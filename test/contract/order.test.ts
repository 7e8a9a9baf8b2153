import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";

import { closedAddress } from "./code-server.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord, tokenRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const WAITS_FOR_ITS_CALLER = "(context) => new Promise((end) => context.signal.addEventListener('abort', end))";

let service: Service;
let closed: string;
/** A token for the containers whose names begin with `mine`. */
let token: string;

before(async () => {
  closed = await closedAddress();
  service = await startService([...NO_WALL, "--concurrency", "1", "--egress-allow", closed]);
  token = await service.issue({ containers: ["mine-*"], limits: { container: { minute: 2 }, token: { day: 100 } } });
});
after(() => service.stop());

describe("the earlier check determines the answer", () => {
  const cases: [string, number, string, () => Promise<Answer>][] = [
    ["the path before the credential", 404, "not_found", () => service.request("POST", "/api/rum/x", { token: null })],
    ["the path before two credentials", 404, "not_found", () => service.request("POST", "/api/rum/x", both())],
    [
      "the method before the credential",
      405,
      "method_not_allowed",
      () => service.request("TRACE", "/api/run/mine-a", { token: null }),
    ],
    [
      "the method before the name of the container",
      405,
      "method_not_allowed",
      () => service.request("TRACE", "/api/run/%00", { token: null }),
    ],
    [
      "two credentials before the name of the container",
      400,
      "credentials_ambiguous",
      () => service.request("POST", "/api/run/%00", both()),
    ],
    [
      "no credential before the name of the container",
      403,
      "token_missing",
      () => service.run("%00", "1", { token: null }),
    ],
    [
      "an invalid credential before the name of the container",
      403,
      "token_invalid",
      () => service.run("%00", "1", { token: "x" }),
    ],
    [
      "an invalid credential before the query",
      403,
      "token_invalid",
      () => service.run("mine-a", "1", { token: "x", query: { task_typo: "" } }),
    ],
    ["the name of the container before permission", 400, "container_invalid", () => service.run("%00", "1", { token })],
    [
      "the query before permission",
      400,
      "request_invalid",
      () => service.run("other", "1", { token, query: { task_typo: "" } }),
    ],
    ["permission before missing code", 403, "token_forbidden", () => service.run("other", "", { token })],
    [
      "permission before ambiguous code",
      403,
      "token_forbidden",
      () => service.run("other", "1", { token, query: { task_url: `http://${closed}/` } }),
    ],
    [
      "permission before a body that is not UTF-8",
      403,
      "token_forbidden",
      () => service.run("other", Uint8Array.of(0xff), { token }),
    ],
  ];
  for (const [name, status, code, send] of cases) {
    it(name, async () => {
      assertProblem(await send(), status, code);
    });
  }

  it("at the limits too: credential, then name, then permission", async () => {
    const path = "/api/limits/container";
    assertProblem(await service.request("GET", `${path}/%00`, { token: null }), 403, "token_missing");
    assertProblem(await service.request("GET", `${path}/%00`, { token }), 400, "container_invalid");
    assertProblem(await service.request("DELETE", `${path}/mine-a`, { token }), 403, "token_forbidden");
  });

  it("the body before a slot in the container", async () => {
    await whileBusy("mine-body", async () => {
      assertProblem(await service.run("mine-body", "", { token }), 400, "code_missing");
      assertProblem(await service.run("mine-body", Uint8Array.of(0xff), { token }), 400, "request_invalid");
      assertProblem(await service.run("mine-body", "1", { token }), 429, "container_busy");
    });
  });

  it("a slot in the container before the admission, and a run without a slot is not counted", async () => {
    await whileBusy("mine-place", async () => {
      const narrow = await service.issue({ containers: ["mine-*"], limits: { container: { minute: 2 } } });
      assert.equal((await containerRecord(service, "mine-place", narrow)).minute, 1);
      const busy = await service.run("mine-place", "1", { token: narrow });
      const problem = assertProblem(busy, 429, "container_busy");
      assert.ok(Number(busy.headers["retry-after"]) >= 1);
      assert.ok(problem.retryAfterMs! > 0);
      assert.equal((await containerRecord(service, "mine-place", token)).minute, 1);
    });
  });

  it("the limits before task_url is fetched, and before the code is compiled", async () => {
    await service.run("mine-full", "1", { token });
    await service.run("mine-full", "1", { token });
    const fetched = { token, query: { task_url: `http://${closed}/` } };
    assertProblem(await service.request("GET", "/api/run/mine-full", fetched), 429, "container_limited");
    assertProblem(await service.run("mine-full", "const = ;", { token }), 429, "container_limited");
  });

  it("a window with nothing left before an invalid body, and before a slot", async () => {
    await service.run("mine-used", "1", { token });
    await service.run("mine-used", "1", { token });
    const json = { "content-type": "application/json" };
    for (const send of [
      () => service.run("mine-used", "", { token }),
      () => service.run("mine-used", Uint8Array.of(0xff), { token }),
      () => service.run("mine-used", "{", { token, headers: json }),
      () => service.run("mine-used", "x".repeat(2 ** 20 + 1), { token }),
      () => service.run("mine-used", "1", { token, query: { task_url: `http://${closed}/` } }),
      () => service.request("GET", "/api/run/mine-used", { token, body: "1" }),
      () => service.request("GET", "/api/run/mine-used", { token }),
    ]) {
      assertProblem(await send(), 429, "container_limited");
    }
    await whileBusy("mine-both", async () => {
      const narrow = await service.issue({ containers: ["mine-*"], limits: { container: { minute: 1 } } });
      assertProblem(await service.run("mine-both", "1", { token: narrow }), 429, "container_limited");
    });
  });

  it("a window with nothing left before the body has arrived", async () => {
    await service.run("mine-early", "1", { token });
    await service.run("mine-early", "1", { token });
    for (const more of ["", "Expect: 100-continue\r\n", "Content-Type: application/json\r\n"]) {
      const socket = connect(service.port, "127.0.0.1");
      const head = `POST /api/run/mine-early HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
      socket.write(`${head}${more}Content-Length: 900000\r\n\r\n`);
      const [first] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      assert.match(first.toString(), /^HTTP\/1\.1 429 /);
    }
  });
});

describe("a run consumes", () => {
  it("nothing before the limits have admitted it", async () => {
    const earlier = await Promise.all([containerRecord(service, "mine-free", token), tokenRecord(service, token)]);
    const name = "mine-free";
    await service.request("TRACE", `/api/run/${name}`, { token });
    await service.run(name, "1", { token: null });
    await service.run(name, "1", { token: `${token}x` });
    await service.run(name, "1", { token, query: { key: token } });
    await service.run(name, "1", { token, query: { task_typo: "" } });
    await service.run(name, "", { token });
    await service.run(name, "1", { token, query: { task_url: `http://${closed}/` } });
    await service.run(name, "{", { token, headers: { "content-type": "application/json" } });
    await service.request("GET", `/api/run/${name}`, { token, body: "1" });
    await service.run(name, "1", { token, headers: { "sec-fetch-dest": "script" } });
    await service.run("other", "1", { token });
    const later = await Promise.all([containerRecord(service, name, token), tokenRecord(service, token)]);
    assert.deepEqual(later, earlier);
  });

  it("one run, whatever fails later", async () => {
    const wide = await service.issue({ containers: ["late"], limits: { container: { day: 100 } } });
    const failures: [number, () => Promise<Answer>][] = [
      [400, () => service.request("GET", "/api/run/late", { token: wide, query: { task_url: `http://${closed}/` } })],
      [400, () => service.run("late", "const = ;", { token: wide })],
      [400, () => service.run("late", "class A {}", { token: wide })],
      [500, () => service.run("late", "throw new Error('no')", { token: wide })],
      [200, () => service.run("late", "1", { token: wide })],
    ];
    for (const [index, [status, send]] of failures.entries()) {
      const answer = await send();
      assert.equal(answer.status, status, answer.text);
      assert.deepEqual(await containerRecord(service, "late", wide), limitRecord({ day: 99 - index }));
    }
  });

  it("nothing of the body if the token may not run: the answer is sent before", async () => {
    const socket = connect(service.port, "127.0.0.1");
    socket.write(
      `POST /api/run/other HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 900000\r\n\r\n`,
    );
    const [first] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    assert.match(first.toString(), /^HTTP\/1\.1 403 /);
  });
});

/** Returns options with two credentials. */
function both(): RequestOptions {
  return { query: { key: token }, token };
}

/** Runs an action while a run occupies the only slot of a container. */
async function whileBusy(container: string, action: () => Promise<void>): Promise<void> {
  const leaving = new AbortController();
  const held = service.run(container, WAITS_FOR_ITS_CALLER, { token, signal: leaving.signal }).catch(() => null);
  await until(async () => (await containerRecord(service, container, token)).minute === 1, "the run is admitted");
  try {
    await action();
  } finally {
    leaving.abort();
    await held;
  }
}
