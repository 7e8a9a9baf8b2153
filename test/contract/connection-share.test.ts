import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";
import { connect as connectSecurely } from "node:tls";

import { keyUpdates, secured } from "../http/tls-records.ts";
import { SELF_SIGNED } from "../source/self-signed.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** So few that a test can open as many connections. */
const DESCRIPTORS = 600;
/** More connections than one network may have, and fewer than the service has. */
const MANY = 250;
const FLAGS = [...NO_WALL, "--max-containers", "8"];

async function starting(t: TestContext, flags: (home: Home) => Promise<readonly string[]>): Promise<Service> {
  const home = { ...(await makeHome()), descriptors: DESCRIPTORS };
  const service = await startService([...FLAGS, ...(await flags(home))], home);
  t.after(() => leave(service, home));
  return service;
}

/** Opens many connections from one address that send one byte of a head, and returns those that the service has not closed. */
async function crowd(t: TestContext, { port }: Service): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let count = 0; count < MANY; count++) {
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.on("error", () => {}).resume();
    await once(socket, "connect");
    socket.write("G");
    sockets.push(socket);
  }
  return sockets;
}

function open(sockets: readonly Socket[]): number {
  return sockets.filter(({ destroyed }) => !destroyed).length;
}

async function isServed(service: Service, from: string): Promise<boolean> {
  return (await service.request("GET", "/healthz", { from }).catch(() => null))?.status === 200;
}

/** Returns whether a client finishes a TLS handshake. */
async function isSecured({ port }: Service, localAddress: string): Promise<boolean> {
  const transport = connect({ port, host: "127.0.0.1", localAddress });
  const socket = connectSecurely({ socket: transport, rejectUnauthorized: false });
  const event = await once(socket, "secureConnect").catch(() => null);
  socket.destroy();
  return event !== null;
}

describe("one network that opens connections without a request", () => {
  it("gets its share, the other networks are served, the log names it once, and it is served when it closes them", async (t) => {
    const service = await starting(t, async () => []);
    const sockets = await crowd(t, service);
    await until(() => open(sockets) < MANY, "connections are closed");
    assert.equal(await isServed(service, "127.0.0.2"), true);
    assert.equal(await isServed(service, "127.0.0.1"), false);
    assert.ok(open(sockets) >= 64, `${open(sockets)} are open`);
    const line = await service.logLine((text) => text.includes("new connections are closed"));
    assert.match(line, /"client":"127\.0\.0\.1".* open, which is its share; .*--trust-proxy/);
    assert.equal(service.stderr().split("new connections are closed").length, 2);
    for (const socket of sockets) socket.destroy();
    await until(() => isServed(service, "127.0.0.1"), "the network is served again");
  });

  it("gets its share of TLS handshakes as well", async (t) => {
    const service = await starting(t, async ({ data }) => {
      const [cert, key] = ["cert.pem", "key.pem"].map((name) => path.join(data, "..", name)) as [string, string];
      await writeFile(cert, SELF_SIGNED.cert);
      await writeFile(key, SELF_SIGNED.key);
      return ["--tls-cert", cert, "--tls-key", key];
    });
    // The byte is not TLS, so the service would close these connections: it gets none.
    const sockets = Array.from({ length: MANY }, () => connect(service.port, "127.0.0.1"));
    for (const socket of sockets) {
      t.after(() => socket.destroy());
      socket.on("error", () => {}).resume();
    }
    await until(() => open(sockets) < MANY, "connections are closed");
    assert.equal(await isSecured(service, "127.0.0.2"), true);
    assert.equal(await isSecured(service, "127.0.0.1"), false);
    for (const socket of sockets) socket.destroy();
    await until(() => isSecured(service, "127.0.0.1"), "the network is served again");
    // The service reads TLS itself, in turns: see test/http/tls-in-turns.test.ts.
    const { transport, secret } = await secured(service.port);
    t.after(() => transport.destroy());
    const closed = once(transport, "close");
    transport.resume().write(keyUpdates(secret, 100_000));
    await closed;
  });

  it("has no share if it is a trusted proxy", async (t) => {
    const service = await starting(t, async () => ["--trust-proxy", "127.0.0.1/32"]);
    const sockets = await crowd(t, service);
    assert.equal(await isServed(service, "127.0.0.1"), true);
    assert.equal(open(sockets), MANY);
  });

  it("has its share of the requests under way if it is a client of a trusted proxy", async (t) => {
    const service = await starting(t, async () => ["--trust-proxy", "127.0.0.1/32"]);
    const json = { code: "() => 42", public: true };
    assert.equal((await service.request("PUT", "/api/tasks/acme/hook", { json })).status, 201);
    const sockets: Socket[] = [];
    const answers = new Map<Socket, string>();
    const head = `POST /api/run/acme/hook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n`;
    for (let count = 0; count < 100; count++) {
      const socket = connect(service.port, "127.0.0.1");
      t.after(() => socket.destroy());
      socket
        .on("error", () => {})
        .on("data", (text) => answers.set(socket, (answers.get(socket) ?? "") + String(text)));
      socket.write(`${head}X-Forwarded-For: 192.0.2.1\r\n\r\n1`);
      sockets.push(socket);
    }
    const refused = (): Socket[] => sockets.filter(({ closed }) => closed);
    await until(() => refused().length > 0, "requests are refused");
    const health = (address: string): Promise<Answer> => {
      return service.request("GET", "/healthz", { headers: { "x-forwarded-for": address } });
    };
    assertProblem(await health("192.0.2.1"), 503, "overloaded");
    assert.equal((await health("192.0.2.2")).status, 200);
    assert.ok(open(sockets) >= 64, `${open(sockets)} are under way`);
    // The connection is not kept open for the rest of the body.
    for (const socket of refused()) assert.match(answers.get(socket)!, /^HTTP\/1\.1 503 [^]*"overloaded"/);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await health("192.0.2.1")).status === 200, "the client is served again");
  });
});
