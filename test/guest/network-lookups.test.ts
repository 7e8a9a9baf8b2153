import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type Networked, startNetworked } from "./networked.ts";

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

  it("are answered by the service, in every form that Node has", async () => {
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

  it("of an address ask nobody", async () => {
    const asked = net.gateway.lookups.length;
    assert.deepEqual(await net.guest.value(`require("dns").promises.lookup("10.1.2.3")`), {
      address: "10.1.2.3",
      family: 4,
    });
    assert.equal(net.gateway.lookups.length, asked);
  });

  it("of what is not there fail as Node's do", async () => {
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

  it("with wrong arguments throw as Node's do", async () => {
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

  it("name their run", async () => {
    const { id, outcome } = net.guest.start(net.guest.code(`require("dns").promises.lookup("six.test")`));
    await outcome;
    assert.deepEqual(net.gateway.lookups.at(-1), { run: id, host: "six.test" });
  });
});

function failure({ guest }: Networked, call: string): Promise<unknown> {
  return guest.value(
    `${call}.catch(({ message, code, errno, syscall, hostname }) => ({ message, code, errno, syscall, hostname }))`,
  );
}
