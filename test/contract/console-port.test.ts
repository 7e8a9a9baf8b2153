import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, it, type TestContext } from "node:test";

import { request } from "./http.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { StallProbe } from "./stall-probe.ts";
import { until } from "./until.ts";

/** The milliseconds that one client may delay the others at most, as in `worst-cases.test.ts`. */
const STALL_MS = 50;
const ATTEMPTS = 8;

let service: Service;
let port = 0;

before(async () => {
  service = await startService([...NO_WALL, "--console-port", "0"]);
  port = Number(/^console: http:\/\/127\.0\.0\.1:(\d+)\/$/m.exec(service.stdout())![1]);
});
after(() => service.stop());

/** Opens connections from one address to the port of the console. */
async function crowd(t: TestContext, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
  for (const socket of sockets) {
    t.after(() => socket.destroy());
    socket.on("error", () => {}).resume();
  }
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

async function isServed(from: string): Promise<boolean> {
  const answer = await request(port, "GET", "/", { token: null, from }).catch(() => null);
  return answer?.status === 200;
}

describe("a client of the console's port", () => {
  it("makes no caller of the service wait, however many heads it sends ahead of the answers", async (t) => {
    await using probe = new StallProbe(service.port, service.pid);
    const waited: number[] = [];
    while (waited.length < ATTEMPTS && !(Math.min(...waited) < STALL_MS)) {
      const sockets = await crowd(t, 100);
      const ms = await probe.during(async () => {
        for (const socket of sockets) socket.write("GET /x HTTP/1.1\r\nHost:\r\n\r\n".repeat(2_500));
        // More than the service answers ahead, so it closes each connection.
        await until(() => sockets.every(({ closed }) => closed), "the connections are closed");
      });
      waited.push(ms);
    }
    t.diagnostic(`another caller waited ${Math.min(...waited).toFixed(1)} ms`);
    assert.ok(Math.min(...waited) < STALL_MS, `others waited ${waited.map(Math.round).join(", ")} ms`);
  });

  it("has a share of its connections, so that other networks still reach the console", async (t) => {
    const sockets = await crowd(t, 300);
    await until(() => sockets.some(({ destroyed }) => destroyed), "connections are closed");
    assert.equal(await isServed("127.0.0.2"), true);
    assert.ok(sockets.filter(({ destroyed }) => !destroyed).length >= 64);
    for (const socket of sockets) socket.destroy();
    await until(() => isServed("127.0.0.1"), "the network is served again");
  });
});
