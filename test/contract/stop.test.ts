import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { describe, it } from "node:test";
import { connect as connectSecurely } from "node:tls";

import { SELF_SIGNED } from "../source/self-signed.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** A task that sends each part of its body back as it arrives. */
const ECHO = "export default { fetch: (request) => new Response(request.body) }";
/** The beginning of a TLS handshake: a record of 512 bytes that does not arrive completely. */
const HALF_HELLO = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
const HEALTH = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

interface Client {
  readonly socket: Socket;
  readonly text: () => string;
}

function clientOn(socket: Socket): Client {
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => {});
  return { socket, text: () => text };
}

function plain({ port }: Service): Client {
  return clientOn(connect(port, "127.0.0.1"));
}

function secure({ port }: Service): Client {
  return clientOn(connectSecurely({ port, host: "127.0.0.1", rejectUnauthorized: false }));
}

/** Returns a client that has read the answer to one request. */
async function idle(client: Client): Promise<Client> {
  client.socket.write(HEALTH);
  await until(() => client.text().includes('"version"'), "the answer has arrived");
  return client;
}

function withBody(service: Service, start: string, ...fields: readonly string[]): string {
  return [start, "Host: x", `Authorization: Bearer ${service.admin}`, ...fields, "", ""].join("\r\n");
}

/** Returns a client whose run is under way and waits for the rest of its body. */
async function running(service: Service, client: Client): Promise<Client> {
  const task = JSON.stringify({ code: ECHO });
  const fields = ["Content-Type: application/json", `Content-Length: ${task.length}`];
  client.socket.write(withBody(service, "PUT /api/tasks/stop/echo HTTP/1.1", ...fields) + task);
  await until(() => client.text().startsWith("HTTP/1.1 201 "), "the task is stored");
  client.socket.write(withBody(service, "POST /api/run/stop/echo HTTP/1.1", "Content-Length: 10"));
  client.socket.write("first");
  await until(() => client.text().includes("first"), "the run is under way");
  return client;
}

/** Stops the service while the clients are connected and a run is under way, and then lets the run end. */
async function assertStops(service: Service, home: Home, run: Client, unused: readonly Client[]): Promise<void> {
  const closed = Promise.all(unused.map(({ socket }) => once(socket, "close")));
  const stopped = leave(service, home);
  // Awaited below; until then, suppress the unhandled-rejection warning.
  stopped.catch(() => {});
  await closed;
  assert.equal(run.socket.destroyed, false);
  run.socket.write("-last");
  await until(() => run.text().includes("-last"), "the run has received the rest of its body");
  await stopped;
}

describe("SIGTERM ends the connections without a request under way, and lets the run under way end", () => {
  it("if clients have sent nothing, half of a head, or nothing since their answer", async () => {
    const home = await makeHome();
    const service = await startService(NO_WALL, home);
    // Opened before the others, so that it would be ended before them.
    const run = await running(service, plain(service));
    const half = plain(service);
    half.socket.write("GET /healthz HT");
    const next = await idle(plain(service));
    next.socket.write("GET /healthz HT");
    const unused = [half, next, plain(service), await idle(plain(service))];
    await assertStops(service, home, run, unused);
  });

  it("if clients have not finished their TLS handshake, or have sent nothing or half of a head after it", async () => {
    const home = await makeHome();
    const [cert, key] = ["cert.pem", "key.pem"].map((name) => path.join(home.data, "..", name)) as [string, string];
    await writeFile(cert, SELF_SIGNED.cert);
    await writeFile(key, SELF_SIGNED.key);
    const service = await startService([...NO_WALL, "--tls-cert", cert, "--tls-key", key], home);
    const run = await running(service, secure(service));
    const handshake = plain(service);
    handshake.socket.write(HALF_HELLO);
    const half = secure(service);
    half.socket.write("GET /healthz HT");
    const silent = secure(service);
    await once(silent.socket, "secureConnect");
    const unused = [handshake, half, silent, plain(service), await idle(secure(service))];
    await assertStops(service, home, run, unused);
  });
});
