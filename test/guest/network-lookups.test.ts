import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { echo, type Networked, SOCKET_HELPERS, startNetworked } from "./networked.ts";

describe("lookups of a guest", () => {
  let net: Networked;
  before(async () => {
    const addresses = [
      { address: "2001:db8::1", family: 6 as const },
      { address: "192.0.2.1", family: 4 as const },
    ];
    net = await startNetworked({}, { "both.test": { addresses }, "six.test": { addresses: addresses.slice(0, 1) } });
  });
  after(() => net[Symbol.asyncDispose]());

  it("are answered by the service, for every form of the call", async () => {
    const [v6, v4] = [
      { address: "2001:db8::1", family: 6 },
      { address: "192.0.2.1", family: 4 },
    ];
    for (const [call, expected] of [
      [`dns.promises.lookup("both.test")`, v6],
      [`dns.promises.lookup("both.test", 4)`, v4],
      [`dns.promises.lookup("both.test", { family: 4 })`, v4],
      [`dns.promises.lookup("both.test", { all: true })`, [v6, v4]],
      [`dns.promises.lookup("both.test", { all: true, order: "ipv4first" })`, [v4, v6]],
      [`dns.promises.lookup("both.test", { verbatim: false })`, v4],
      [`require("dns/promises").lookup("six.test")`, v6],
      [`import("node:dns").then((dns) => dns.promises.lookup("six.test"))`, v6],
      [`process.getBuiltinModule("dns").promises.lookup("six.test")`, v6],
      [`require("util").promisify(dns.lookup)("six.test")`, v6],
      [`new Promise((ok) => dns.lookup("six.test", (...args) => ok(args)))`, [null, v6.address, 6]],
      [
        `new Promise((ok) => dns.lookup("both.test", { family: "IPv4" }, (...args) => ok(args)))`,
        [null, v4.address, 4],
      ],
      [`new Promise((ok) => dns.lookup("both.test", { all: true }, (...args) => ok(args)))`, [null, [v6, v4]]],
    ] as const) {
      assert.deepEqual(await net.guest.value(`const dns = require("dns"); return ${call}`), expected, call);
    }
  });

  it("of an address do not ask the service", async () => {
    const count = net.gateway.lookups.length;
    assert.deepEqual(await net.guest.value(`require("dns").promises.lookup("10.1.2.3")`), {
      address: "10.1.2.3",
      family: 4,
    });
    assert.equal(net.gateway.lookups.length, count);
  });

  it("of an unknown name fail with Node's error", async () => {
    const notFound = { code: "ENOTFOUND", errno: -3008, syscall: "getaddrinfo" };
    assert.deepEqual(await failure(net, `require("dns").promises.lookup("none.test")`), {
      ...notFound,
      message: "getaddrinfo ENOTFOUND none.test",
      hostname: "none.test",
    });
    assert.deepEqual(await failure(net, `require("dns").promises.lookup("six.test", 4)`), {
      ...notFound,
      message: "getaddrinfo ENOTFOUND six.test",
      hostname: "six.test",
    });
  });

  it("with wrong arguments throw Node's error", async () => {
    for (const [call, code] of [
      [`dns.lookup("a.test")`, "ERR_INVALID_ARG_TYPE"],
      [`dns.lookup(5, () => {})`, "ERR_INVALID_ARG_TYPE"],
      [`dns.lookup("a.test", { family: 5 }, () => {})`, "ERR_INVALID_ARG_VALUE"],
      [`dns.promises.lookup("a.test", { all: 1 })`, "ERR_INVALID_ARG_TYPE"],
    ] as const) {
      const got = await net.guest.value(
        `const dns = require("dns"); try { await ${call} } catch (error) { return error.code }`,
      );
      assert.equal(got, code, call);
    }
  });

  it("name the run that is charged", async () => {
    const { id, outcome } = net.guest.start(net.guest.code(`require("dns").promises.lookup("six.test")`));
    await outcome;
    assert.deepEqual(net.gateway.lookups.at(-1), { run: id, host: "six.test" });
  });
});

describe("a socket of a guest that connects to a name", () => {
  let net: Networked;
  const value = (code: string): Promise<unknown> => net.guest.value(SOCKET_HELPERS + code);

  before(async () => {
    net = await startNetworked(
      { "echo.test:7": echo(), "10.0.0.7:7": echo() },
      {
        "two.test": {
          addresses: [
            { address: "10.0.0.6", family: 4 },
            { address: "10.0.0.7", family: 4 },
          ],
        },
        "six.test": { addresses: [{ address: "2001:db8::1", family: 6 }] },
        "both.test": {
          addresses: [
            { address: "2001:db8::1", family: 6 },
            { address: "10.0.0.7", family: 4 },
          ],
        },
      },
    );
  });
  after(() => net[Symbol.asyncDispose]());

  it("tries the addresses of the requested family or of the task's lookup in turn", async () => {
    const targetsOf = async (code: string): Promise<unknown> => {
      const count = net.gateway.opens.length;
      const result = await value(code);
      return [result, net.gateway.opens.slice(count).map(({ host, address }) => [host, address])];
    };
    net.gateway.add("10.0.0.6:7", { message: "connect ETIMEDOUT", code: "ETIMEDOUT" });
    assert.deepEqual(
      await targetsOf(`const s = net.connect({ port: 7, host: "both.test", family: 4 }); s.end("4"); return textOf(s)`),
      ["4", [["both.test", "10.0.0.7"]]],
    );
    assert.deepEqual(
      await targetsOf(`const s = net.connect({ port: 7, host: "two.test", family: 4 }); s.end("2"); return textOf(s)`),
      [
        "2",
        [
          ["two.test", "10.0.0.6"],
          ["two.test", "10.0.0.7"],
        ],
      ],
    );
    const own = `lookup: (host, options, done) => done(null, options.all ? [{ address: "10.0.0.7", family: 4 }] : "10.0.0.7", 4)`;
    for (const more of ["", ", autoSelectFamily: false", ", family: 4"]) {
      assert.deepEqual(
        await targetsOf(
          `const s = net.connect({ port: 7, host: "mine.test", ${own} ${more} }); s.end("own"); return textOf(s)`,
        ),
        ["own", [["mine.test", "10.0.0.7"]]],
      );
    }
    // `dns.lookup` only asks the service, which resolves the name anyway when it connects.
    assert.deepEqual(
      await targetsOf(
        `const s = net.connect({ port: 7, host: "echo.test", lookup: require("dns").lookup }); s.end("d"); return textOf(s)`,
      ),
      ["d", [["echo.test", undefined]]],
    );
    for (const wrong of ["null, 'nowhere', 4", "null, []", "null, [{}]", `null, "fe80::1%" + "x".repeat(9000), 6`]) {
      assert.equal(
        await value(
          `return (await failure(net.connect({ port: 7, host: "a.test", lookup: (h, o, done) => done(${wrong}) }))).code`,
        ),
        "ERR_INVALID_IP_ADDRESS",
      );
    }
    assert.equal(
      await value(
        `return (await failure(net.connect({ port: 7, host: "a.test", lookup: (h, o, done) => done(new Error("mine")) }))).message`,
      ),
      "mine",
    );
  });
});

function failure({ guest }: Networked, call: string): Promise<unknown> {
  return guest.value(
    `${call}.catch(({ message, code, errno, syscall, hostname }) => ({ message, code, errno, syscall, hostname }))`,
  );
}
