import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";

import { type Service, startService } from "./service.ts";

let service: Service;
let server: Server;
let port: number;
const sockets: Set<Socket> = new Set();

before(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    socket.pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  service = await startService([
    ...["--egress-allow", `127.0.0.1:${port}`, "--egress-connections", "3"],
    ...["--egress-bytes", "1MiB", "--egress-time", "2s"],
  ]);
});
after(async () => {
  await service.stop();
  server.close();
});

/**
 * Runs code with the functions `open()`, which connects to the server, and `failure(socket)`, which waits for its
 * error.
 */
async function run(container: string, code: string): Promise<unknown> {
  const answer = await service.run(
    container,
    `const { once } = require("events"), net = require("net");
     const connect = () => net.connect(${port}, "127.0.0.1");
     const open = async () => { const socket = connect(); await once(socket, "connect"); return socket; };
     const failure = async (socket) => { const [{ code, message }] = await once(socket, "error"); return { code, message }; };
     ${code}`,
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

async function denied(container: string, code: string): Promise<string> {
  const error = (await run(container, code)) as { code: string; message: string };
  assert.equal(error.code, "EGRESS_DENIED", error.message);
  return error.message;
}

describe("the network access of a run", () => {
  it("has a maximum of connections that are open at once", async () => {
    const message = await denied("many", `await open(); await open(); await open(); return failure(connect());`);
    assert.match(message, /has 3 open connections, the maximum \(--egress-connections\)/);
    const one = `const one = await open(); one.destroy(); await once(one, "close"); await open(); await open(); await open(); return 1`;
    assert.equal(await run("some", one), 1);
  });

  it("has a maximum of bytes sent and received, and the next run has the full maximum again", async () => {
    const code = `const socket = await open(); socket.resume(); socket.end(Buffer.alloc(600_000)); return failure(socket);`;
    assert.match(await denied("bytes", code), /has sent and received 1MiB, the maximum \(--egress-bytes\)/);
    const less = `const socket = await open(); let n = 0; socket.on("data", (d) => (n += d.length)); socket.end(Buffer.alloc(500_000)); await once(socket, "end"); return n;`;
    assert.equal(await run("bytes", less), 500_000);
  });

  it("has a maximum time for each connection", async () => {
    const message = await denied("long", `const socket = await open(); return failure(socket);`);
    assert.match(message, /was open for 2s, the maximum \(--egress-time\)/);
  });

  it("ends with its container", async () => {
    const answer = await service.run(
      "gone",
      `await require("events").once(require("net").connect(${port}, "127.0.0.1"), "connect"); process.kill(process.pid, 9); process.abort()`,
    );
    assert.equal(answer.status, 500);
    const left = [...sockets].map(async (socket) => once(socket, "close"));
    await Promise.all(left);
  });

  it("is logged if it is refused, once for each run and destination", async () => {
    const answer = await service.run(
      "refused",
      `for (let i = 0; i < 5; i++) await fetch("http://10.9.8.7/secret?i=" + i).catch(() => {}); return 1`,
    );
    assert.equal(answer.status, 200, answer.text);
    const id = answer.headers["caisson-run"]!;
    const isRefusal = (line: string): boolean => line.includes("egress refused") && line.includes(`"${id}"`);
    const {
      host,
      port: refused,
      reason,
      container,
      jti,
    } = JSON.parse(await service.logLine(isRefusal)) as Record<string, unknown>;
    assert.deepEqual([host, refused, reason, container], ["10.9.8.7", 80, "address", "refused"]);
    assert.match(String(jti), /^[0-9a-f-]{36}$/);
    assert.equal(service.stderr().split("\n").filter(isRefusal).length, 1);
  });
});

describe("--egress none", () => {
  it("permits only destinations that are allowed by name, and no DNS lookup", async () => {
    const closed = await startService(["--egress", "none", "--egress-allow", `127.0.0.1:${port}`]);
    try {
      const code = `const { connect } = require("net"), { once } = require("events");
        await once(connect(${port}, "127.0.0.1"), "connect");
        const words = async (promise) => (await promise.catch((error) => error.cause ?? error)).message;
        return [await words(fetch("http://8.8.8.8/")), await words(require("dns").promises.lookup("secret.example.com"))];`;
      const [fetched, lookedUp] = (await closed.run("none", code)).json() as string[];
      assert.match(fetched!, /connect to "8\.8\.8\.8" port 80 is not allowed: .*egress is switched off/);
      assert.match(lookedUp!, /lookup of "secret\.example\.com" is not allowed: .*egress is switched off/);
    } finally {
      await closed.stop();
    }
  });
});
