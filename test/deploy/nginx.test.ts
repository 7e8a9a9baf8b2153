import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";

import { end, startProxy } from "../../bench/scale/topology.ts";
import { HEAD_BYTES } from "../../src/wire/head.ts";
import { type Answer, collect, request, respond, sendRaw } from "../contract/http.ts";
import { assertProblem } from "../contract/problem.ts";
import { NO_WALL, type Service, startService } from "../contract/service.ts";
import { pause, until } from "../contract/until.ts";
import { freePort } from "../ports.ts";
import { missing } from "../redis/server.ts";

/** Requests that the start of a test sends to nginx, and nginx to a node. */
const HEALTH = new Set(["/healthz", "/.well-known/jwks.json"]);

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** nginx with the configuration of `deploy/`, in front of servers whose answers a test sets. */
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
    // As a node that waits for the rest of a request.
    if (HEALTH.has(incoming.url!)) incoming.resume().on("end", () => response.end());
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

/** A test has one IPv6 address, so a header names the client. It has a single place, and its site has two. */
function withAddressOfHeader(config: string): string {
  return config
    .replaceAll(/map \$remote_addr \$caisson_(?:client|site) \{[^}]*\}/g, (map) =>
      map.replaceAll("$remote_addr", "$http_x_address"),
    )
    .replaceAll("limit_conn caisson_clients 256", "limit_conn caisson_clients 1")
    .replaceAll("limit_conn caisson_sites 512", "limit_conn caisson_sites 2");
}

/** Adds what `deploy/nginx-path.conf` has, and counts clients as its comment describes. */
async function withPath(): Promise<(config: string) => string> {
  const shipped = await readFile(path.join(import.meta.dirname, "../../deploy/nginx-path.conf"), "utf8");
  const counts = [...shipped.matchAll(/^# {3}((?!include ).*)$/gm)].map(([, line]) => `${line}\n`).join("");
  const locations = shipped.replace("http://127.0.0.1:7070", "http://caisson");
  return (config) =>
    config
      .replace(/map \$remote_addr \$caisson_client \{[^}]*\}/, "")
      .replace(/limit_req_zone [^;]*;/, "")
      .replace(/limit_conn_zone \$caisson_client [^;]*;/, () => counts)
      .replace("    server {\n", (head) => `${head}${locations}\n`);
}

/** Starts a node that closes each connection after a request. @param arrived receives the first lines of the requests */
async function vanishing(t: TestContext, arrived: string[]): Promise<number> {
  const server = createNetServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (head: Buffer) => {
      const line = head.toString().split("\r\n", 1)[0]!;
      if (HEALTH.has(line.split(" ")[1]!)) socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
      else {
        arrived.push(line);
        socket.destroy();
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Returns a port that does not answer connection attempts, like a machine that is down: its queue is full. */
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

const breaking: Handler = (incoming, response) => {
  if (incoming.url === "/api/run/breaks") incoming.socket.destroy();
  else response.end("42");
};

/** Starts nginx with the configuration of a distribution, which uses HTTP/1.0 and buffers answers by default. */
const PLAIN = (port: number, upstream: number, folder: string): string => `
pid ${folder}/pid;
events {}
http {
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi; access_log off;
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${upstream}; } }
}`;

type Kind = "deploy" | "plain";

/** The service behind nginx with the configuration of `deploy/`, and behind a plain nginx, until it is disposed of. */
class Behind implements AsyncDisposable {
  readonly service: Service;
  readonly ports: Readonly<Record<Kind, number>>;
  readonly #closers: AsyncDisposableStack;

  private constructor(service: Service, ports: Readonly<Record<Kind, number>>, closers: AsyncDisposableStack) {
    this.service = service;
    this.ports = ports;
    this.#closers = closers;
  }

  static async start(): Promise<Behind> {
    await using closers = new AsyncDisposableStack();
    const flags = [...NO_WALL, "--trust-proxy", "127.0.0.1/32", "--log-level", "debug"];
    const service = closers.adopt(await startService(flags), (started) => started.stop());
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-nginx-"));
    closers.defer(() => rm(folder, { recursive: true }));
    const ports = { deploy: await freePort(), plain: await freePort() };
    const proxy = await startProxy(path.join(folder, "deploy"), ports.deploy, [service.port]);
    closers.defer(() => end(proxy, "SIGTERM"));
    const place = path.join(folder, "plain");
    await mkdir(place);
    const file = path.join(place, "nginx.conf");
    const user = process.getuid?.() === 0 ? "user root;" : "";
    await writeFile(file, user + PLAIN(ports.plain, service.port, place));
    const words = ["-p", place, "-e", "stderr", "-c", file, "-g", "daemon off;"];
    const plain = spawn("nginx", words, { stdio: "ignore" });
    closers.defer(() => end(plain, "SIGTERM"));
    await until(() => answers(ports.plain), "nginx answers");
    return new Behind(service, ports, closers.move());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closers.disposeAsync();
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await request(port, "GET", "/healthz", {})).status === 200;
  } catch {
    return false;
  }
}

/** Each chunk waits until another run releases it. */
const STEPWISE = (type: string): string => `new Response(new ReadableStream({
  async pull(c) {
    this.n = (this.n ?? 0) + 1;
    if (this.n > 3) return c.close();
    if (this.n > 1) await new Promise((go) => { globalThis.go = go });
    c.enqueue("data: " + this.n + "\\n\\n");
  }
}, { highWaterMark: 0 }), { headers: { "content-type": "${type}" } })`;

const METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE"];

const noNginx = await missing("nginx");

describe("the configuration of nginx", { skip: noNginx }, () => {
  for (const method of METHODS) {
    it(`sends no ${method} of a run twice if its node closes the connection`, async (t) => {
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

  /** A body that nginx does not hold in memory. */
  const LONG_BODY = Buffer.alloc(2 ** 20, "a");
  const gone: [string, (t: TestContext) => Promise<number>][] = [
    ["does not listen", () => freePort()],
    ["does not even refuse", deaf],
  ];
  for (const [what, leave] of gone) {
    // nginx waits a quarter of a second for each node that does not answer.
    describe(`skips a node that ${what}, and loses no run`, { concurrency: METHODS.length }, () => {
      for (const method of METHODS) {
        it(`for each ${method} of a run`, async (t) => {
          const arrived: string[] = [];
          const answer: Handler = async (incoming, response) => {
            let bytes = 0;
            for await (const chunk of incoming) bytes += (chunk as Buffer).length;
            arrived.push(`${incoming.method} ${incoming.url} ${bytes}`);
            response.end("42");
          };
          const port = await proxyTo(t, [await leave(t), await listening(t, answer), await leave(t)]);
          const body = method === "GET" ? "" : LONG_BODY;
          const sent: string[] = [];
          for (let number = 0; number < 10; number++) {
            const target = `/api/run/demo-${number}/hook/..//%2e?a=${number}`;
            sent.push(`${method} ${target} ${body.length}`);
            const { status, text } = await request(port, method, target, { body, headers: { "if-none-match": "*" } });
            assert.deepEqual([status, text], [200, "42"]);
          }
          assert.deepEqual(arrived, sent);
        });
      }
    });
  }

  it("answers 502 when no node listens", async (t) => {
    const node = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
    await once(node, "listening");
    const port = await proxyTo(t, [await freePort(), (node.address() as AddressInfo).port]);
    await new Promise((resolve) => node.close(resolve));
    for (const method of METHODS) assert.equal((await request(port, method, "/api/run/demo", {})).status, 502);
  });

  it("continues to use a node after broken answers, which a tenant can cause", async (t) => {
    const port = await proxied(t, breaking, breaking);
    for (let number = 0; number < 10; number++) {
      for (const method of METHODS) {
        assert.equal((await request(port, method, "/api/run/breaks", {})).status, 502);
        assert.equal((await request(port, method, `/api/run/other-${number}`, {})).text, "42");
      }
    }
  });

  // Paths that a node reads as a run, and nginx as something else.
  const PATHS = [
    "/api/run/acme/hook/../../../../x",
    "/api/run/acme/hook/%2e%2e/%2e%2e/%2e%2e/%2e%2e/x",
    "/api/run/../x",
    "/api/run/./../../x",
    "/api/run//../../../x",
    "/api/run/a/..%2f..%2f..%2f..%2fx",
    "/api/run/a?/../../..",
    "http://other/api/run/acme/hook/../../../../x",
    "HTTP://other:80/api/run/acme",
    "other://other/api/run/acme",
  ];
  for (const method of METHODS) {
    it(`sends no ${method} twice that a node treats as a run, whatever path nginx sees`, async (t) => {
      const arrived: string[] = [];
      const ports = [await vanishing(t, arrived), await vanishing(t, arrived)];
      const port = await proxyTo(t, ports);
      for (const target of PATHS) {
        arrived.length = 0;
        const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
        const answer = await sendRaw(port, [head]);
        assert.match(answer, /^HTTP\/1\.1 (502|400) /);
        const runs = arrived.filter((line) => line.startsWith(`${method} /api/run/`));
        assert.deepEqual([runs.length, arrived.length], answer.includes(" 502 ") ? [1, 1] : [0, 0], target);
      }
    });
  }

  it("sends neither a run that is answered with its record, nor a dry run, nor a removal twice", async (t) => {
    const arrived: string[] = [];
    const port = await proxyTo(t, [await vanishing(t, arrived), await vanishing(t, arrived)]);
    for (const start of [
      "POST /api/runs/acme",
      "DELETE /api/runs/acme/0123456789ab-1",
      "DELETE /api/runs/x/../acme/1",
      "DELETE /api/tasks/acme/hook",
      "PUT /api/tasks/acme/hook?dryRun=true",
      "PUT /api/tasks/acme/hook?dry%52un=true",
      "PUT /api/tasks/acme/hook?public=true&dryRun=true",
    ]) {
      arrived.length = 0;
      const answer = await sendRaw(port, [
        `${start} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      ]);
      assert.match(answer, /^HTTP\/1\.1 502 /);
      assert.equal(arrived.length, 1, start);
    }
    arrived.length = 0;
    await request(port, "GET", "/api/runs/acme", {});
    assert.equal(arrived.length, 2, "a read is repeated");
  });

  it("sends a cancellation to the next node if its node does not listen", async (t) => {
    const port = await proxied(t, null, named("two"));
    for (let number = 0; number < 8; number++) {
      const answer = await request(port, "DELETE", `/api/runs/demo-${number}/0123456789ab-1`, {});
      assert.deepEqual([answer.status, answer.text], [200, "two"]);
    }
  });

  describe("sends no run twice if its node takes too long", { concurrency: METHODS.length }, () => {
    for (const method of METHODS) {
      it(method, async (t) => {
        let arrived = 0;
        const ports = [await listening(t, () => arrived++), await listening(t, () => arrived++)];
        const port = await proxyTo(t, ports, (config) =>
          config.replace("proxy_read_timeout 330s", "proxy_read_timeout 1s"),
        );
        const answer = await request(port, method, "/api/run/demo", { body: method === "GET" ? "" : "1" });
        assert.deepEqual([answer.status, arrived], [504, 1]);
      });
    }
  });

  it("sends all requests of a container to one node, and uses all nodes for many containers", async (t) => {
    const port = await proxied(t, named("one"), named("two"), named("three"));
    const seen = new Set<string>();
    for (let number = 0; number < 30; number++) {
      const { text } = await request(port, "POST", `/api/run/demo-${number}?a=${number}`, { body: "1" });
      seen.add(text);
      const runs = `/api/runs/demo-${number}`;
      for (const target of [
        `/api/run/demo-${number}/task`,
        `/api/limits/container/demo-${number}`,
        runs,
        `${runs}/events`,
      ]) {
        assert.equal((await request(port, "GET", target, {})).text, text);
      }
      assert.equal((await request(port, "POST", runs, { body: "1" })).text, text);
      assert.equal((await request(port, "DELETE", `${runs}/0123456789ab-1`, {})).text, text);
    }
    assert.equal(seen.size, 3);
  });

  it("answers others while one address holds more heads than a distribution's nginx has places, and ends these heads", async (t) => {
    const port = await proxied(t, named("node"));
    const held: Socket[] = [];
    t.after(() => {
      for (const socket of held) socket.destroy();
    });
    // In portions, because the queue of a listening socket is short.
    for (let portion = 0; portion < 34; portion++) {
      const sockets = Array.from({ length: 250 }, () => connect(port, "127.0.0.1", () => {}));
      for (const socket of sockets) socket.on("error", () => {}).write("G");
      held.push(...sockets);
      await Promise.all(sockets.map((socket) => once(socket, "connect")));
    }
    assert.ok(held.filter((socket) => !socket.destroyed).length > 2 * 1_024);
    assert.equal((await request(port, "GET", "/api/run/anyone", {})).text, "node");
    const isEnded = (): boolean => held.every((socket) => socket.destroyed || socket.readableEnded || socket.closed);
    for (const socket of held) socket.resume();
    await until(isEnded, "nginx has ended the heads");
  });

  it("passes on an answer while it is created", async (t) => {
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

  it("holds no body of any method, which would fill its disk, but sends the node what has arrived", async (t) => {
    const begun = new Set<string>();
    const port = await proxied(t, null, (incoming, response) => {
      incoming.on("data", (chunk) => begun.add(`${incoming.method} ${String(chunk)}`));
      incoming.on("end", () => response.end("done"));
    });
    const expected: string[] = [];
    for (const method of METHODS) {
      for (const framing of [`Content-Length: ${2 ** 20}\r\n\r\n`, "Transfer-Encoding: chunked\r\n\r\n100\r\n"]) {
        const text = `begun-${framing.length}`;
        const socket = connect(port, "127.0.0.1").on("error", () => {});
        t.after(() => socket.destroy());
        socket.write(`${method} /api/run/demo HTTP/1.1\r\nHost: x\r\n${framing}${text}`);
        expected.push(`${method} ${text}`);
      }
    }
    await until(() => expected.every((each) => begun.has(each)), "the node has the beginning of each body");
    for (const method of METHODS) {
      assert.equal((await request(port, method, "/api/run/demo", { body: "1" })).text, "done", method);
    }
  });

  it("sends a run with a body to a node that refuses the client, which reports why", async (t) => {
    const node = createServer((incoming, response) => {
      response.writeHead(incoming.url === "/healthz" ? 200 : 503, { "Caisson-Fault": "limit" }).end("why");
    }).listen(0, "127.0.0.1");
    await once(node, "listening");
    t.after(() => node.close());
    const port = await proxyTo(t, [(node.address() as AddressInfo).port]);
    const answer = await request(port, "PUT", "/api/run/demo", { body: "1" });
    assert.deepEqual([answer.status, answer.text], [503, "why"]);
  });

  it("lets an address have at most 256 requests under way, and serves other addresses", async (t) => {
    const port = await proxied(t, (incoming, response) => {
      incoming.resume().on("end", () => response.end("done"));
    });
    const sockets: Socket[] = [];
    const refused = new Set<Socket>();
    for (let count = 0; count < 280; count++) {
      const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.3" }).on("error", () => {});
      t.after(() => socket.destroy());
      sockets.push(socket);
      let text = "";
      socket.on("data", (chunk) => {
        text += String(chunk);
        if (/^HTTP\/1\.1 429 [^]*"container_busy"/.test(text)) refused.add(socket);
      });
      socket.write("POST /api/run/demo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1");
    }
    await until(() => refused.size === 280 - 256, "requests are refused");
    const get = (from: string): Promise<Answer> => request(port, "GET", "/api/runs/demo", { from });
    assert.equal((await get("127.0.0.3")).status, 429);
    assert.equal((await get("127.0.0.2")).text, "done");
    for (const socket of sockets) socket.destroy();
    await until(async () => (await get("127.0.0.3")).text === "done", "nginx serves the address again");
  });

  for (const prefix of ["", "/caisson"]) {
    it(`counts all addresses of the /64 of an IPv6 address as one client${prefix && ", also below a path"}`, async (t) => {
      const change = prefix === "" ? (config: string): string => config : await withPath();
      const released = new EventEmitter();
      const node = await listening(t, (incoming, response) => {
        if (incoming.method === "POST") {
          released.once("release", () => response.end());
          released.emit("held");
        } else response.end("done");
      });
      const port = await proxyTo(t, [node], (config) => withAddressOfHeader(change(config)));
      const get = async (address: string): Promise<number> => {
        return (await request(port, "GET", `${prefix}/api/runs/demo`, { headers: { "x-address": address } })).status;
      };
      for (const [held, same, others] of [
        ["2001:db8:1:2::1", ["2001:db8:1:2:ffff::9", "2001:db8:1:2:3:4:5:6"], ["2001:db8:1:3::1", "192.0.2.1"]],
        ["2001:db8::1", ["2001:db8::2"], ["2001:db9::1", "2001:db8:0:1::1"]],
        ["::ffff:192.0.2.1", ["192.0.2.1"], ["192.0.2.2", "::ffff:192.0.2.2"]],
      ] as const) {
        const isHeld = once(released, "held");
        const answered = request(port, "POST", `${prefix}/api/runs/demo`, {
          body: "1",
          headers: { "x-address": held },
        });
        await isHeld;
        for (const address of same) assert.equal(await get(address), 429, address);
        // The place of an earlier request may be given back after its answer.
        for (const address of others) await until(async () => (await get(address)) === 200, `${address} has a place`);
        released.emit("release");
        assert.equal((await answered).status, 200);
      }
    });
  }

  for (const prefix of ["", "/caisson"]) {
    it(`limits the rate of a client, whose requests take no place after it has reset them${prefix && ", also below a path"}`, async (t) => {
      const change = prefix === "" ? (config: string): string => config : await withPath();
      let arrived = 0;
      const node = await listening(t, (_, response) => {
        arrived += 1;
        response.end("done");
      });
      const port = await proxyTo(t, [node], (config) =>
        withAddressOfHeader(change(config)).replace("rate=500r/s", "rate=1r/m").replaceAll("burst=1000", "burst=2"),
      );
      const get = (address: string): Promise<Answer> =>
        request(port, "GET", `${prefix}/api/runs/demo`, { headers: { "x-address": address } });
      const statuses: number[] = [];
      for (let count = 0; count < 5; count++) statuses.push((await get("192.0.2.1")).status);
      assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
      assert.equal((await get("192.0.2.2")).status, 200);
      assert.equal(arrived, 4, "a refused request reaches no node");
    });
  }

  it("counts all networks of the /48 of an IPv6 address as one site, which has twice as much as a client", async (t) => {
    const held: ServerResponse[] = [];
    const node = await listening(t, (incoming, response) => {
      if (incoming.method === "POST") held.push(response);
      else response.end("done");
    });
    const port = await proxyTo(t, [node], withAddressOfHeader);
    const ask = (method: string, address: string): Promise<Answer> => {
      return request(port, method, "/api/runs/demo", { headers: { "x-address": address } });
    };
    for (const [clients, same, other] of [
      [["2001:db8:1:2::1", "2001:db8:1:3::1"], "2001:db8:1::1", "2001:db8:2::1"],
      [["2001:db8::1", "2001:db8:0:1::1"], "2001:db8:0:2:3:4:5:6", "2001:db8:1::1"],
      [["2001::1", "2001:0:0:1::1"], "2001::2:0:0:0:1", "2001:0:1::1"],
    ] as const) {
      const answered = clients.map((address) => ask("POST", address));
      await until(() => held.length === clients.length, "the requests are under way");
      assert.equal((await ask("GET", same)).status, 429, same);
      assert.equal((await ask("GET", other)).status, 200, other);
      for (const response of held.splice(0)) response.end();
      await Promise.all(answered);
      await until(async () => (await ask("GET", same)).status === 200, `${same} has a place again`);
    }
  });

  it("passes on the client's address, ignores the client's own headers about it, and accepts the largest code", async (t) => {
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

describe("the service behind nginx", { skip: noNginx }, () => {
  let behind: Behind;
  before(async () => {
    behind = await Behind.start();
  });
  after(() => behind[Symbol.asyncDispose]());

  const streamed = [
    ["deploy", "text/event-stream"],
    ["deploy", "text/plain"],
    ["plain", "text/event-stream"],
    ["plain", "text/plain"],
  ] as const;
  for (const [how, type] of streamed) {
    it(`passes on each chunk of a task's ${type} at once (${how})`, async () => {
      const { service, ports } = behind;
      const port = ports[how];
      const container = `steps-${how}-${type.replace("/", "-")}`;
      const response = await respond(port, "POST", `/api/run/${container}`, {
        token: service.admin,
        body: STEPWISE(type),
      });
      response.setEncoding("utf8");
      const pieces: string[] = [];
      const ended = once(response, "end");
      response.on("data", (piece: string) => pieces.push(piece));
      for (const count of [1, 2, 3]) {
        await until(() => pieces.join("").split("\n\n").length > count, `${count} chunks have arrived`);
        assert.equal(
          pieces.join(""),
          [1, 2, 3]
            .slice(0, count)
            .map((n) => `data: ${n}\n\n`)
            .join(""),
        );
        if (count < 3) await service.run(container, "go()");
      }
      await ended;
      assert.equal(response.complete, true);
    });
  }

  for (const how of ["deploy", "plain"] as const) {
    it(`breaks the connection if an answer breaks, so that the answer does not seem complete (${how})`, async () => {
      const { service, ports } = behind;
      const port = ports[how];
      const codes = [
        `new Response(new ReadableStream({ pull(c) { this.n ??= 0; if (this.n++ < 2) c.enqueue("a"); else c.error(new Error("no")) } }))`,
        "(context, req, res) => { res.setHeader('content-length', '9'); res.write('a'); setTimeout(() => res.end('b'), 300) }",
        "async function* () { yield 'a'; await new Promise((go) => setTimeout(go, 300)); throw new Error('no') }",
        "(context, req, res) => { res.write('a'); setTimeout(() => process.exit(), 300) }",
      ];
      for (const body of codes) {
        const answer = await request(port, "POST", `/api/run/breaks-${how}`, { token: service.admin, body });
        assert.ok(!answer.complete || answer.status === 502, `${answer.status} ${answer.text} for ${body}`);
      }
    });

    it(`aborts a task when its client leaves (${how})`, async () => {
      const { service, ports } = behind;
      const port = ports[how];
      const logged = (what: string): Promise<string> =>
        service.logLine((line) => line.includes(`"${what}"`) && line.includes(`-${how}"`));
      const onAbort = "context.signal.onabort = () => console.log('aborted', context.signal.reason.name)";
      const leaving = new AbortController();
      const body = `(context) => { ${onAbort}; console.log('waits'); return new Promise((never) => setTimeout(never, 60_000)) }`;
      const left = request(port, "POST", `/api/run/waits-${how}`, {
        token: service.admin,
        body,
        signal: leaving.signal,
      });
      await logged("waits");
      leaving.abort();
      await assert.rejects(left);
      await logged("aborted AbortError");

      const events = `(context) => new Response(new ReadableStream({
        start(c) { c.enqueue("data: 1\\n\\n") }, cancel() { console.log("cancelled") }
      }), { headers: { "content-type": "text/event-stream" } })`;
      const response = await respond(port, "POST", `/api/run/events-${how}`, { token: service.admin, body: events });
      await once(response, "data");
      response.destroy();
      await logged("cancelled");
    });
  }

  it("passes on the largest headers that a task may send", async () => {
    const { service, ports } = behind;
    const port = ports.deploy;
    const many = Array.from({ length: 199 }, (_, index) => [`x-n${index}`, "\u00ff".repeat(100)]);
    const heads = [[], many].map((headers) => {
      const frame = JSON.stringify({ status: 200, headers: [...headers.flat(), "x-big", ""] });
      return [...headers, ["x-big", "a".repeat(HEAD_BYTES - Buffer.byteLength(frame))]];
    });
    for (const headers of heads) {
      const body = (more: string): string => {
        const all = [...headers.slice(0, -1), ["x-big", headers.at(-1)![1] + more]];
        return `new Response(null, { headers: ${JSON.stringify(all)} })`;
      };
      const options = { token: service.admin, body: body("") };
      const answer = await respond(port, "POST", "/api/run/heads", { ...options, maxHeaderSize: 2 ** 17 });
      const { status, headers: passed } = await collect(answer);
      assert.deepEqual([status, passed["x-big"]], [200, headers.at(-1)![1]]);
      assert.equal((await service.run("heads", body("a"))).status, 500);
    }
  });

  it("passes on the longest token, and the longest request line and headers that a node accepts", async () => {
    const { service, ports } = behind;
    const port = ports.deploy;
    const token = await service.issue({ containers: ["demo"], params: { p: "x".repeat(5814) } });
    assert.ok(token.length > 8_180 && token.length <= 8_192, `${token.length}`);
    const run = (target: string, headers: Record<string, string>): Promise<Answer> => {
      return request(port, "POST", `/api/run/demo${target}`, { body: "6 * 7", headers });
    };
    const bearer = { authorization: `Bearer ${token}` };
    const room = "x".repeat(16_384 - 8_192 - 600);
    assert.equal((await run("", bearer)).text, "42");
    assert.equal((await run("", { ...bearer, "x-more": room })).text, "42");
    assert.equal((await run(`?key=${token}&more=${room}`, {})).text, "42");
    const url = encodeURIComponent(`http://127.0.0.1:1/${"?".repeat(2_000)}`);
    assertProblem(
      await request(port, "GET", `/api/run/demo?key=${token}&task_url=${url}`, {}),
      400,
      "task_url_forbidden",
    );
    // The node itself refuses longer headers.
    const over = room + "x".repeat(1_000);
    for (const refused of [await run(`?key=${token}&more=${over}`, {}), await run("", { ...bearer, "x-more": over })]) {
      assertProblem(refused, 431, "request_invalid");
    }
  });

  it("adds a Host header for a node if the client did not need one", async () => {
    assert.match(await sendRaw(behind.ports.deploy, ["GET /healthz HTTP/1.0\r\n\r\n"]), /^HTTP\/1\.1 200 /);
  });
});
