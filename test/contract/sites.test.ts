import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, it, type TestContext } from "node:test";

import { type Answer, request } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** Another client, behind the same proxy. */
const OTHER = "192.0.2.7";

let service: Service;

before(async () => {
  service = await startService([...NO_WALL, "--trust-proxy", "127.0.0.1/32", "--auth-limit", "hour=4"]);
  for (const [name, code] of Object.entries({
    waits: "() => new Promise((resolve) => setTimeout(resolve, 60_000))",
    reads: "(context) => context.body.length",
  })) {
    const put = await service.request("PUT", `/api/tasks/acme/${name}`, { json: { code, public: true } });
    assert.equal(put.status, 201);
  }
});
after(() => service.stop());

/** Returns an address in one of the 65,536 IPv6 networks of one customer. */
function ofSite(at: number): string {
  return `2001:db8:1:${at.toString(16)}::1`;
}

function send(method: string, target: string, address: string, options: object = {}): Promise<Answer> {
  return request(service.port, method, target, { token: null, ...options, headers: { "x-forwarded-for": address } });
}

/** Returns the number of runs in flight in the container. */
async function running(): Promise<number> {
  const { containers } = (await service.request("GET", "/api/containers")).json() as {
    containers: { container: string; running: number }[];
  };
  return containers.find(({ container }) => container === "acme")?.running ?? 0;
}

async function opened(t: TestContext, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(service.port, "127.0.0.1"));
  for (const socket of sockets) {
    t.after(() => socket.destroy());
    socket.on("error", () => {}).resume();
  }
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

describe("one client that has a /48 of IPv6", () => {
  it("gets half of what clients without a token get of a container, and other sites still get in", async (t) => {
    const stop = new AbortController();
    t.after(() => stop.abort());
    const run = (address: string): Promise<Answer | null> => {
      return send("GET", "/api/run/acme/waits", address, { signal: stop.signal }).catch(() => null);
    };
    const answers = Array.from({ length: 20 }, (_, at) => run(ofSite(at)));
    await until(async () => (await running()) === 16, "half of the 32 runs are in flight");
    assertProblem((await Promise.race(answers))!, 429, "container_busy");
    void run(OTHER);
    await until(async () => (await running()) === 17, "the other client has its run");
  });

  it("loses its own bodies if the memory for bodies of public tasks is full", async (t) => {
    const head = "POST /api/run/acme/reads HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    const sockets = await opened(t, 700);
    for (const [at, socket] of sockets.entries()) {
      socket.write(`${head}X-Forwarded-For: ${ofSite(at)}\r\nContent-Length: 90000\r\n\r\na=${"a".repeat(60_000)}`);
    }
    await until(() => sockets.some(({ bytesRead }) => bytesRead > 0), "the memory is full");
    const body = `a=${"b".repeat(200_000)}`;
    const type = "application/x-www-form-urlencoded";
    const answer = await request(service.port, "POST", "/api/run/acme/reads", {
      ...{ token: null, body, headers: { "content-type": type, "x-forwarded-for": OTHER } },
    });
    assert.equal(answer.status, 200, answer.text);
  });

  it("causes sixteen times as many checks of tokens as one of its networks, and no more", async () => {
    const check = (at: number): Promise<Answer> => send("GET", "/api/usage", ofSite(at), { token: `a.guess${at}` });
    for (let at = 0; at < 16 * 4; at++) assertProblem(await check(0x1000 + at), 403, "token_invalid");
    assertProblem(await check(0x2000), 429, "auth_limited");
    assertProblem(await send("GET", "/api/usage", OTHER, { token: "a.guess" }), 403, "token_invalid");
  });
});
