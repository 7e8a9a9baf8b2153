import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { describe, it } from "node:test";

import { dnsNames, type NameResolver } from "../../src/egress/resolve-names.ts";
import { A, AAAA, serveNames, SERVER_FAILURE } from "./serve-names.ts";

/** Returns a replacement of the system's resolver, and the names that it resolved. */
function systemUnderTest(): { system: NameResolver; asked: string[] } {
  const asked: string[] = [];
  return { asked, system: async (name) => (asked.push(name), [{ address: "8.8.4.4" }]) };
}

/** Returns an address on which nothing listens. */
async function refusingServer(): Promise<string> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return `127.0.0.1:${port}`;
}

async function listensOnDnsPort(): Promise<boolean> {
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers(["127.0.0.1"]);
  const error = await resolver.resolve4("invalid").catch((reason: NodeJS.ErrnoException) => reason);
  return !("code" in error) || error.code !== "ECONNREFUSED";
}

describe("names in DNS", () => {
  it("resolve to addresses of both families, IPv4 first", async (t) => {
    const six = [0x26, 0x06, 0x47, 0, ...Array.from({ length: 11 }, () => 0), 1];
    const server = await serveNames(t, {
      "both.test": {
        [A]: [
          [8, 8, 8, 8],
          [8, 8, 4, 4],
        ],
        [AAAA]: [six],
      },
      "four.test": { [A]: [[8, 8, 8, 8]] },
      "six.test": { [AAAA]: [six] },
    });
    const names = dnsNames([server.address]);
    assert.deepEqual(await names("both.test"), [
      { address: "8.8.8.8" },
      { address: "8.8.4.4" },
      { address: "2606:4700::1" },
    ]);
    assert.deepEqual(await names("four.test"), [{ address: "8.8.8.8" }]);
    assert.deepEqual(await names("six.test"), [{ address: "2606:4700::1" }]);
  });

  it("that do not exist, or have no address, fail as in Node's lookup", async (t) => {
    const server = await serveNames(t, { "empty.test": {} });
    for (const name of ["nowhere.test", "empty.test", `${"x".repeat(70)}.test`]) {
      await assert.rejects(dnsNames([server.address])(name), {
        message: `getaddrinfo ENOTFOUND ${name}`,
        code: "ENOTFOUND",
        errno: -3008,
        syscall: "getaddrinfo",
        hostname: name,
      });
    }
  });

  it("whose servers fail are reported with the temporary error EAI_AGAIN", async (t) => {
    const server = await serveNames(t, { "broken.test": { code: SERVER_FAILURE } });
    await assert.rejects(dnsNames([server.address])("broken.test"), { code: "EAI_AGAIN", syscall: "getaddrinfo" });
  });

  it("that have a fixed answer are not sent to a server", async (t) => {
    const server = await serveNames(t, {});
    const names = dnsNames([server.address]);
    const loopback = [{ address: "127.0.0.1" }, { address: "::1" }];
    assert.deepEqual(await names("localhost"), loopback);
    assert.deepEqual(await names("a.localhost"), loopback);
    await assert.rejects(names("nowhere.invalid"), { code: "ENOTFOUND" });
    assert.deepEqual(server.queries, []);
  });

  it("are never resolved by the system because of an answer", async (t) => {
    // Nothing listens on TCP at this port. So a truncated answer fails as if the machine had no name server.
    const server = await serveNames(t, { "cut.test": { truncated: true, [A]: [[8, 8, 8, 8]] } });
    const { system, asked } = systemUnderTest();
    await assert.rejects(dnsNames([server.address], system)("cut.test"), { code: "EAI_AGAIN" });
    assert.deepEqual(asked, []);
  });

  it("are not resolved by the system if the configured name server refuses queries", async () => {
    const { system, asked } = systemUnderTest();
    await assert.rejects(dnsNames([await refusingServer()], system)("some.test"), { code: "EAI_AGAIN" });
    assert.deepEqual(asked, []);
  });

  it("are resolved by the system if the machine has no name server", async (t) => {
    if (await listensOnDnsPort()) return t.skip("this machine has a name server");
    const { system, asked } = systemUnderTest();
    // The default of c-ares on a machine without a configuration of name servers.
    assert.deepEqual(await dnsNames(["127.0.0.1"], system)("some.test"), [{ address: "8.8.4.4" }]);
    assert.deepEqual(asked, ["some.test"]);
  });

  it("are not delayed by names whose servers never answer", async (t) => {
    const silence = Promise.withResolvers<void>();
    const silent = await serveNames(t, {}, silence.promise);
    const server = await serveNames(t, { "quick.test": { [A]: [[8, 8, 8, 8]] } });
    const slow = dnsNames([silent.address]);
    // Far more lookups than libuv has threads.
    const waiting = Array.from({ length: 50 }, (_, each) => slow(`${each}.test`).catch(() => "failed"));
    assert.deepEqual(await dnsNames([server.address])("quick.test"), [{ address: "8.8.8.8" }]);
    assert.equal(await Promise.race([...waiting, Promise.resolve("still waiting")]), "still waiting");
    // Otherwise the process of the test would wait until the resolver gives up.
    silence.resolve();
    await Promise.all(waiting);
  });
});
