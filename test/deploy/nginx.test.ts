import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { end, startProxy } from "../../bench/scale/topology.ts";
import { request, respond } from "../contract/http.ts";
import { type Service, startService } from "../contract/service.ts";
import { pause, until } from "../contract/until.ts";
import { freePort, missing } from "../redis/server.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** nginx with the configuration of `deploy/`, in front of servers that answer a run as they are told. */
async function proxied(t: TestContext, ...handlers: (Handler | null)[]): Promise<number> {
  const ports: number[] = [];
  for (const handler of handlers) ports.push(handler === null ? await freePort() : await listening(t, handler));
  return proxyTo(t, ports);
}

async function proxyTo(t: TestContext, ports: readonly number[], change?: (config: string) => string): Promise<number> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-nginx-"));
  await chmod(folder, 0o755);
  const port = await freePort();
  const proxy = await startProxy(folder, port, ports, change);
  t.after(async () => {
    await end(proxy, "SIGTERM");
    await rm(folder, { recursive: true });
  });
  return port;
}

async function listening(t: TestContext, handler: Handler): Promise<number> {
  const server: Server = createServer((incoming, response) => {
    if (incoming.url === "/healthz") response.end();
    else handler(incoming, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A port that answers no attempt to connect, as that of a machine that is gone: its queue is full. */
async function deaf(t: TestContext): Promise<number> {
  const listen = 'require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () {';
  const child = spawn(process.execPath, ["-e", `${listen} console.log(this.address().port); });`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  child.kill("SIGSTOP");
  const port = Number(line);
  const open = async (): Promise<boolean> => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    t.after(() => socket.destroy());
    return Promise.race([once(socket, "connect").then(() => true), pause(500).then(() => false)]);
  };
  while (await open());
  return port;
}

function named(name: string): Handler {
  return (_, response) => void response.end(name);
}

/** nginx as a distribution configures it, which speaks HTTP/1.0 and gathers answers unless it is told otherwise. */
const PLAIN = (port: number, upstream: number, folder: string): string => `
pid ${folder}/pid;
events {}
http {
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi; access_log off;
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${upstream}; } }
}`;

/** The service, behind nginx as in `deploy/` or behind a plain one. */
async function behind(t: TestContext, how: "deploy" | "plain"): Promise<{ service: Service; port: number }> {
  const service = await startService(["--trust-proxy", "127.0.0.1/32", "--log-level", "debug"]);
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-nginx-"));
  const port = await freePort();
  let proxy: ChildProcess;
  if (how === "deploy") proxy = await startProxy(folder, port, [service.port]);
  else {
    const file = path.join(folder, "nginx.conf");
    const user = process.getuid?.() === 0 ? "user root;" : "";
    await writeFile(file, user + PLAIN(port, service.port, folder));
    proxy = spawn("nginx", ["-p", folder, "-e", "stderr", "-c", file, "-g", "daemon off;"], { stdio: "ignore" });
    await until(() => answers(port), "nginx answers");
  }
  t.after(async () => {
    await end(proxy, "SIGTERM");
    await rm(folder, { recursive: true });
    await service.stop();
  });
  return { service, port };
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await request(port, "GET", "/healthz", {})).status === 200;
  } catch {
    return false;
  }
}

/** Each piece waits until another run lets it go. */
const STEPWISE = (type: string): string => `new Response(new ReadableStream({
  async pull(c) {
    this.n = (this.n ?? 0) + 1;
    if (this.n > 3) return c.close();
    if (this.n > 1) await new Promise((go) => { globalThis.go = go });
    c.enqueue("data: " + this.n + "\\n\\n");
  }
}, { highWaterMark: 0 }), { headers: { "content-type": "${type}" } })`;

const METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE"];

describe("the configuration of nginx", { skip: await missing("nginx") }, () => {
  for (const method of METHODS) {
    it(`sends no ${method} of a run twice when its node goes away with it`, async (t) => {
      let arrived = 0;
      const vanish: Handler = (incoming) => {
        arrived++;
        incoming.socket.destroy();
      };
      const port = await proxied(t, vanish, vanish);
      const answer = await request(port, method, "/api/run/demo", { body: method === "GET" ? "" : "1" });
      assert.deepEqual([answer.status, arrived], [502, 1]);
    });
  }

  it("passes over a node that does not listen, and loses no run by it", async (t) => {
    const port = await proxied(t, null, (_, response) => response.end("42"));
    for (let number = 0; number < 20; number++) {
      const answer = await request(port, "POST", `/api/run/demo-${number}`, { body: "6 * 7" });
      assert.deepEqual([answer.status, answer.text], [200, "42"]);
    }
  });

  it("passes over a node that does not even refuse, and loses no run by it", async (t) => {
    const port = await proxyTo(t, [await deaf(t), await listening(t, (_, response) => response.end("42"))]);
    for (let number = 0; number < 20; number++) {
      const answer = await request(port, "POST", `/api/run/demo-${number}`, { body: "6 * 7" });
      assert.deepEqual([answer.status, answer.text], [200, "42"]);
    }
  });

  for (const method of METHODS) {
    it(`sends no ${method} of a run twice when its node takes too long`, async (t) => {
      let arrived = 0;
      const ports = [await listening(t, () => arrived++), await listening(t, () => arrived++)];
      const port = await proxyTo(t, ports, (config) =>
        config.replace("proxy_read_timeout 330s", "proxy_read_timeout 1s"),
      );
      const answer = await request(port, method, "/api/run/demo", { body: method === "GET" ? "" : "1" });
      assert.deepEqual([answer.status, arrived], [504, 1]);
    });
  }

  it("leads a container to one node, by whatever path, and containers to all", async (t) => {
    const port = await proxied(t, named("one"), named("two"), named("three"));
    const seen = new Set<string>();
    for (let number = 0; number < 30; number++) {
      const { text } = await request(port, "POST", `/api/run/demo-${number}?a=${number}`, { body: "1" });
      seen.add(text);
      for (const target of [`/api/run/demo-${number}/task`, `/api/limits/container/demo-${number}`]) {
        assert.equal((await request(port, "GET", target, {})).text, text);
      }
    }
    assert.equal(seen.size, 3);
  });

  it("lets an answer through while it is made", async (t) => {
    const first = Promise.withResolvers<void>();
    const port = await proxied(t, (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      void first.promise.then(() => response.end("data: 2\n\n"));
    });
    const response = await respond(port, "POST", "/api/run/demo", { body: "1" });
    response.setEncoding("utf8");
    const [chunk] = (await once(response, "data")) as [string];
    assert.equal(chunk, "data: 1\n\n");
    first.resolve();
    const [rest] = (await once(response, "data")) as [string];
    assert.equal(rest, "data: 2\n\n");
  });

  const streamed = [
    ["deploy", "text/event-stream"],
    ["deploy", "text/plain"],
    ["plain", "text/event-stream"],
    ["plain", "text/plain"],
  ] as const;
  for (const [how, type] of streamed) {
    it(`lets each piece of a task's ${type} through as it is made (${how})`, async (t) => {
      const { service, port } = await behind(t, how);
      const response = await respond(port, "POST", "/api/run/demo", { token: service.admin, body: STEPWISE(type) });
      response.setEncoding("utf8");
      const pieces: string[] = [];
      const ended = once(response, "end");
      response.on("data", (piece: string) => pieces.push(piece));
      for (const count of [1, 2, 3]) {
        await until(() => pieces.join("").split("\n\n").length > count, `${count} pieces have come`);
        assert.equal(
          pieces.join(""),
          [1, 2, 3]
            .slice(0, count)
            .map((n) => `data: ${n}\n\n`)
            .join(""),
        );
        if (count < 3) await service.run("demo", "go()");
      }
      await ended;
      assert.equal(response.complete, true);
    });
  }

  for (const how of ["deploy", "plain"] as const) {
    it(`passes on that an answer broke: it does not end it (${how})`, async (t) => {
      const { service, port } = await behind(t, how);
      const codes = [
        `new Response(new ReadableStream({ pull(c) { this.n ??= 0; if (this.n++ < 2) c.enqueue("a"); else c.error(new Error("no")) } }))`,
        "(context, req, res) => { res.setHeader('content-length', '9'); res.write('a'); setTimeout(() => res.end('b'), 300) }",
        "async function* () { yield 'a'; await new Promise((go) => setTimeout(go, 300)); throw new Error('no') }",
        "(context, req, res) => { res.write('a'); setTimeout(() => process.exit(), 300) }",
      ];
      for (const body of codes) {
        const answer = await request(port, "POST", "/api/run/demo", { token: service.admin, body });
        assert.ok(!answer.complete || answer.status === 502, `${answer.status} ${answer.text} for ${body}`);
      }
    });

    it(`tells a task when its client leaves (${how})`, async (t) => {
      const { service, port } = await behind(t, how);
      const said = (what: string): Promise<string> => service.logLine((line) => line.includes(`"${what}"`));
      const told = "context.signal.onabort = () => console.log('told', context.signal.reason.name)";
      const leaving = new AbortController();
      const body = `(context) => { ${told}; console.log('waits'); return new Promise(() => {}) }`;
      const left = request(port, "POST", "/api/run/waits", { token: service.admin, body, signal: leaving.signal });
      await said("waits");
      leaving.abort();
      await assert.rejects(left);
      await said("told AbortError");

      const events = `(context) => new Response(new ReadableStream({
        start(c) { c.enqueue("data: 1\\n\\n") }, cancel() { console.log("cancelled") }
      }), { headers: { "content-type": "text/event-stream" } })`;
      const response = await respond(port, "POST", "/api/run/events", { token: service.admin, body: events });
      await once(response, "data");
      response.destroy();
      await said("cancelled");
    });
  }

  it("says who asks, and believes no client about it; takes bodies as long as code may be", async (t) => {
    const port = await proxied(t, async (incoming, response) => {
      let bytes = 0;
      for await (const chunk of incoming) bytes += (chunk as Buffer).length;
      response.end(JSON.stringify({ bytes, headers: incoming.headers }));
    });
    const lies = { "X-Forwarded-For": "9.9.9.9", Forwarded: "for=9.9.9.9" };
    const body = Buffer.alloc(5 * 2 ** 20, "a");
    const answer = await request(port, "POST", "/api/run/demo", { body, headers: lies });
    const { bytes, headers } = answer.json() as { bytes: number; headers: Record<string, string> };
    assert.equal(bytes, body.length);
    assert.equal(headers["x-forwarded-for"], "127.0.0.1");
    assert.equal(headers["forwarded"], undefined);
    assert.equal(headers["host"], `127.0.0.1:${port}`);
  });
});
