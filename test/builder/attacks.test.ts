import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, it, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";

import type { Builder } from "../../src/packages/model.ts";
import { closedPort, serveTcp } from "../egress/puppet-network.ts";
import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { buildOf, evaluated, orderOf, realBuilder, versionsOf } from "./real-builder.ts";
import { tarballOf, tarOf } from "./tar.ts";
import { TestRegistry } from "./test-registry.ts";

const CODE = { "index.js": "module.exports = 1" };
const TOKEN = "npm_SECRET";
const MIB = 2 ** 20;

let registry: TestRegistry;
let builder: Builder;

before(async () => {
  registry = await TestRegistry.open();
  // Several tests order these, and a short run does not make all of them.
  registry.publish("leaf", "1.0.0", CODE).publish("victim", "1.0.0", CODE).publish("evil", "1.0.0", CODE);
  builder = await realBuilder(registry, { registry: { url: registry.url, token: TOKEN } });
});
after(async () => {
  await builder.close();
  registry.close();
});

const random = seeded();
const SEED = `SEED=${random.seed}`;

/** Each attack starts builders. A short run makes about a third of them. */
function itIfDrawn(title: string, attack: (context: TestContext) => Promise<void>): void {
  const isDrawn = isLong || random.below(3) === 0;
  it(title, { skip: !isDrawn && `not drawn; LONG=1 makes all of them (${SEED})` }, attack);
}

describe("a hostile registry or package", () => {
  itIfDrawn("cannot pass other bytes than it states", async () => {
    registry.publish("lies", "1.0.0", CODE, { dist: { integrity: `sha512-${"A".repeat(86)}==` } });
    registry.publish("lies-weakly", "1.0.0", CODE, { dist: { integrity: undefined, shasum: "0".repeat(40) } });
    for (const name of ["lies", "lies-weakly"]) {
      await refused(
        orderOf({ [name]: "1" }),
        "packages_failed",
        /has other bytes than the registry or the lock states/,
      );
    }
    registry.publish("changes", "1.0.0", CODE);
    const { lock } = await buildOf(builder, orderOf({ changes: "1" }));
    registry.publish("changes", "1.0.0", { "index.js": "module.exports = 'changed'" });
    await refused(orderOf({ changes: "1" }, { from: lock }), "packages_failed", /has other bytes/);
  });

  itIfDrawn("cannot use the names of JavaScript's own members", async () => {
    registry.publish(
      "constructor",
      "1.0.0",
      { "index.js": "module.exports = require('hasownproperty')" },
      {
        manifest: { dependencies: { hasownproperty: "1" } },
      },
    );
    registry.publish("hasownproperty", "1.0.0", { "index.js": "module.exports = 'own'" });
    const built = await buildOf(builder, orderOf({ constructor: "1" }));
    assert.equal(evaluated(built)["constructor"]!.require(), "own");
    assert.deepEqual(versionsOf(built), ["constructor@1.0.0", "hasownproperty@1.0.0"]);
    for (const range of ["constructor", "toString", "__proto__"]) {
      await refused(orderOf({ constructor: range }), "packages_not_found", /no version of constructor is/);
    }
    const manifest = `{"name":"polluting","version":"1.0.0","__proto__":{"main":"x.js"},"exports":{"__proto__":{".":"./x.js"},".":"./index.js"}}`;
    registry.publish(
      "polluting",
      "1.0.0",
      {},
      { tarball: tarballOf({ "package.json": manifest, ...CODE, "x.js": "" }) },
    );
    assert.equal(evaluated(await buildOf(builder, orderOf({ polluting: "1" })))["polluting"]!.require(), 1);
  });

  itIfDrawn("cannot stop the service with huge ranges, many dependencies, or descriptions that are none", async () => {
    const huge = "1 || ".repeat(MIB);
    registry.publish("huge", "1.0.0", CODE, { manifest: { dependencies: { leaf: huge } } });
    await refused(orderOf({ huge: "1" }), "packages_failed", /huge has dependencies that cannot be read/);
    const dependencies = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`d${index}`, "1"]));
    registry.publish("wide", "1.0.0", CODE, { manifest: { dependencies } });
    await refused(orderOf({ wide: "1" }), "packages_failed", /wide has dependencies that cannot be read/);
    const texts = { "not-json": "<html>", "null-body": "null", list: "[[]]", bomb: null };
    for (const [name, text] of Object.entries(texts)) {
      registry.instead.set(`/${name}`, (_, response) => {
        const body = gzipSync(text ?? Buffer.alloc(200 * MIB, " "));
        response.writeHead(200, { "content-encoding": "gzip" }).end(body);
      });
      await assert.rejects(
        buildOf(builder, orderOf({ [name]: "1" })),
        /no description|no version of|cannot be unpacked/,
      );
    }
  });

  itIfDrawn("cannot unpack outside, or without end", async () => {
    const manifest = { path: "package/package.json", content: "{}" };
    const outside = gzipSync(tarOf([manifest, { path: "package/../../../etc/x", content: "x" }]));
    registry.publish("outside", "1.0.0", {}, { tarball: outside });
    await refused(orderOf({ outside: "1" }), "packages_failed", /outside@1\.0\.0 has an unsafe path/);
    registry.publish("grows", "1.0.0", {}, { tarball: gzipSync(Buffer.alloc(128 * MIB)) });
    await refused(orderOf({ grows: "1" }), "packages_too_large", /more than 100 MiB/);
    const links = [
      { path: "package/index.js", type: "2", link: "/etc/passwd" },
      { path: "package/index.mjs", type: "1", link: "package/../../etc/passwd" },
    ];
    registry.publish("linked", "1.0.0", {}, { tarball: gzipSync(tarOf([manifest, ...links])) });
    await refused(orderOf({ linked: "1" }), "packages_failed", /no module with its own name/);
  });

  itIfDrawn("cannot make the service ask a stranger for the packages of a scope", async (t) => {
    const acme = await openRegistry(t);
    acme.publish(
      "@acme/tools",
      "1.0.0",
      { "index.js": "module.exports = require('leaf')" },
      {
        manifest: { dependencies: { leaf: "1", "@acme/more": "1" } },
      },
    );
    acme.publish("@acme/more", "1.0.0", CODE);
    registry.publish("@acme/tools", "9.0.0", { "index.js": "module.exports = 'stranger'" });
    registry.requests.length = 0;
    const scopes = new Map([["@acme", { url: acme.url, token: "npm_ACME" }]]);
    const scoped = await realBuilder(registry, { scopes, registry: { url: registry.url, token: TOKEN } });
    const built = await buildOf(scoped, orderOf({ "@acme/tools": "*" }));
    assert.deepEqual(versionsOf(built), ["@acme/more@1.0.0", "@acme/tools@1.0.0", "leaf@1.0.0"]);
    assert.ok(
      registry.requests.every((path) => path.startsWith("/leaf")),
      registry.requests.join(),
    );
    assert.ok(registry.credentials.every((each) => each === undefined || each === `Bearer ${TOKEN}`));
    assert.deepEqual([...new Set(acme.credentials)], ["Bearer npm_ACME"]);
    acme.close();
    await assert.rejects(buildOf(scoped, orderOf({ "@acme/tools": "*" })), /the registry does not answer/);
    await scoped.close();
  });

  itIfDrawn("cannot lead the service to private places, and gets no credential for another host", async (t) => {
    const inner = createServer((request, response) => response.end(request.headers.authorization ?? "no credential"));
    inner.listen(0, "127.0.0.1");
    await once(inner, "listening");
    t.after(() => inner.close());
    let asked = 0;
    inner.on("request", () => asked++);
    const { port } = inner.address() as { port: number };
    const targets = [
      `http://127.0.0.1:${port}/x`,
      `http://localhost:${port}/x`,
      "http://169.254.169.254/",
      "file:///etc/passwd",
      "//[::1]/",
    ];
    for (const [index, location] of targets.entries()) {
      registry.instead.set(`/leads-${index}`, (_, response) => response.writeHead(302, { location }).end());
      await refused(
        orderOf({ [`leads-${index}`]: "1" }),
        "packages_unavailable",
        /the registry (?:leads to a place that|redirected to)/,
      );
    }
    assert.equal(asked, 0);
    registry.instead.set("/circle", (_, response) => response.writeHead(302, { location: "/circle" }).end());
    await refused(orderOf({ circle: "1" }), "packages_unavailable", /redirected more than 5 times/);
    registry.publish("moved", "1.0.0", CODE);
    registry.instead.set("/moved-here", (_, response) => response.writeHead(301, { location: "/moved" }).end());
    registry.publish("elsewhere", "1.0.0", CODE, {
      dist: { tarball: `http://127.0.0.1:${port}/secret/elsewhere-1.0.0.tgz` },
    });
    await refused(orderOf({ elsewhere: "1" }), "packages_failed", /is not at the registry of its package/);
    assert.equal(asked, 0);
  });
});

describe("a registry that fails", () => {
  itIfDrawn("is reported, whether it does not answer, refuses, disappears in the middle, or is slow", async (t) => {
    const away = await openRegistry(t);
    away.publish("half", "1.0.0", CODE);
    away.instead.set("/half/-/half-1.0.0.tgz", (_, response) => {
      response.writeHead(200, { "content-length": 1_000 }).write("x");
      setImmediate(() => response.destroy());
    });
    away.instead.set("/forbidden", (_, response) => response.writeHead(401).end());
    away.instead.set("/busy", (_, response) => response.writeHead(500).end());
    away.instead.set("/slow", () => {});
    away.instead.set("/drips", (_, response) => {
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    });
    // Chunks of one byte, without end.
    away.instead.set("/crumbs", ({ socket }) => {
      const crumbs = "1\r\na\r\n".repeat(1_000);
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      const write = (): void => {
        while (!socket.destroyed && socket.write(crumbs));
        socket.once("drain", write);
      };
      write();
    });
    away.instead.set("/hints", ({ socket }) => {
      const hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000);
      const write = (): void => {
        while (!socket.destroyed && socket.write(hints));
        socket.once("drain", write);
      };
      write();
    });
    const failing = await realBuilder(away);
    const codes = {
      hints: /the registry sends too many interim answers/,
      half: /closed the connection/,
      crumbs: /closed the connection/,
      forbidden: /refuses the request \(status 401\)/,
      busy: /answered with status 500/,
    };
    for (const [name, detail] of Object.entries(codes)) {
      await assert.rejects(buildOf(failing, orderOf({ [name]: "1" })), detail);
    }
    const hurried = await realBuilder(away, { deadlineMs: 1_500 });
    for (const name of ["slow", "drips"]) {
      await assert.rejects(buildOf(hurried, orderOf({ [name]: "1" })), /could not be fetched and built within 1\.5 s/);
    }
    const stopped = new AbortController();
    const waiting = failing.build(orderOf({ slow: "1" }), stopped.signal);
    stopped.abort(new Error("the client left"));
    await assert.rejects(waiting, /the client left/);
    const gone = await realBuilder(away, {
      registry: { url: new URL(`http://127.0.0.1:${await closedPort()}/`), token: null },
    });
    await assert.rejects(buildOf(gone, orderOf({ half: "1" })), /the registry does not answer \(ECONNREFUSED\)/);
    await Promise.all([failing.close(), hurried.close(), gone.close()]);
  });

  itIfDrawn("cannot send without end", async (t) => {
    const endless = await openRegistry(t);
    const piece = Buffer.alloc(MIB);
    endless.instead.set("/endless", (_, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", write);
      write();
    });
    const bounded = await realBuilder(endless);
    await assert.rejects(
      buildOf(bounded, orderOf({ endless: "1" })),
      /the registry sent more than 48 MiB for one package/,
    );
    await bounded.close();
  });
});

/** Makes the program of a builder that a package has taken over. Its body has `order`, `get(path)` and `reply(head, rest)`. */
function takenOver(body: string): () => Promise<string> {
  return async () => `
    const http = require("node:http"), net = require("node:net"), { createHash } = require("node:crypto");
    const get = (path, host = "registry") => new Promise((resolve) => {
      http.get({ host, path }, (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk)).on("end", () => resolve({ status: response.statusCode, body: Buffer.concat(chunks) })).on("error", (error) => resolve({ status: error.code }));
      }).on("error", (error) => resolve({ status: error.code }));
    });
    const sha = (bytes) => "sha512-" + createHash("sha512").update(bytes).digest("base64");
    module.exports = async ({ body: order }) => {
      async function* reply(head, rest = "") { yield Buffer.from(JSON.stringify(head) + "\\n"); yield Buffer.from(rest); }
      ${body}
    };`;
}

/** The body of a builder that fetched a hostile package, and gives its bytes a name. */
function answer(name: string): string {
  return `
    const evil = sha((await get("/tarball/evil/1.0.0/" + encodeURIComponent("evil/-/evil-1.0.0.tgz"))).body);
    const packages = [{ name: "${name}", version: "1.0.0", integrity: evil, dependencies: {} }];
    return reply({ is: "built", packages, roots: { ${name}: "${name}@1.0.0" } }, "poison");`;
}

describe("a builder that was taken over", () => {
  itIfDrawn("cannot make the lock of another set", async () => {
    const lying = await realBuilder(registry, { program: takenOver(answer("victim")) });
    await assert.rejects(buildOf(lying, orderOf({ victim: "1" })), /the builder's answer was refused/);
    await assert.rejects(buildOf(lying, orderOf({ evil: "1" })), /the builder's answer was refused/);
    const poisoning = await realBuilder(registry, { program: takenOver(answer("evil")) });
    const { lock, artefact } = await buildOf(poisoning, orderOf({ evil: "1" }));
    assert.equal(artefact.toString(), "poison");
    assert.notEqual(lock.key, (await buildOf(builder, orderOf({ victim: "1" }))).lock.key);
    await Promise.all([lying.close(), poisoning.close()]);
  });

  itIfDrawn("reaches nothing but packages at their registries", async (t) => {
    let reached = 0;
    const { port } = await serveTcp(t, () => void reached++);
    registry.requests.length = 0;
    const paths = [
      "/",
      "/packument/..%2f-%2fwhoami",
      "/packument/-",
      "/packument/a/b",
      "/tarball/evil/1.0.0/-%2fwhoami",
      "/tarball/evil/1.0.0/evil%2f..%2f-%2fwhoami%2f1.0.0",
      "/tarball/evil/latest/evil%2f-%2fevil-latest.tgz",
      `/tarball/evil/1.0.0/${encodeURIComponent(`http://127.0.0.1:${port}/evil/-/evil-1.0.0.tgz`)}x`,
      "/packument/%E0%A4%A",
    ];
    const program = takenOver(`
      const seen = [];
      for (const path of ${JSON.stringify(paths)}) seen.push((await get(path)).status);
      seen.push((await get("/", "127.0.0.1:${port}".split(":")[0])).status);
      seen.push(await new Promise((resolve) => net.connect(${port}, "127.0.0.1").on("error", (error) => resolve(error.code)).on("connect", () => resolve("reached"))));
      net.connect(1, "esbuild").on("error", () => {});
      seen.push(await new Promise((resolve) => setTimeout(() => net.connect(1, "esbuild").on("error", (error) => resolve(error.code)).on("connect", () => resolve("reached")), 20)));
      return reply({ is: "failed", code: "packages_failed", detail: JSON.stringify(seen), hint: null });`);
    const hostile = await realBuilder(registry, { program, registry: { url: registry.url, token: TOKEN } });
    const message = await buildOf(hostile, orderOf({ evil: "1" })).then(
      () => assert.fail("it was built"),
      (error: Error) => error.message,
    );
    const statuses = JSON.parse(message) as unknown[];
    assert.deepEqual(statuses.slice(0, paths.length), [400, 400, 400, 400, 400, 400, 400, 404, 400]);
    assert.deepEqual(statuses.slice(paths.length), ["EGRESS_DENIED", "EGRESS_DENIED", "EGRESS_DENIED"]);
    assert.equal(reached, 0);
    assert.ok(
      registry.requests.every((path) => !path.includes("whoami")),
      registry.requests.join(),
    );
    await hostile.close();
  });

  itIfDrawn(
    "ends alone if it lies about its form, ends itself, asks or returns without end, or does nothing",
    async () => {
      const cases: [body: string, detail: RegExp][] = [
        ["return 1;", /returned no answer/],
        ["async function* none() { yield Buffer.from('{') } return none();", /was refused/],
        ["async function* much() { for (;;) yield Buffer.alloc(65536) } return much();", /returned too much/],
        ["process.reallyExit(3);", /ended before it had an answer/],
        [
          "require('node:fs').writeSync(3, 'forged'.repeat(99)); return new Promise(() => {});",
          /ended before it had an answer/,
        ],
        ["for (;;) await get('/packument/evil');", /need more than 1000 requests/],
        [
          `const closed = new Promise((resolve) => net.connect(80, "registry").on("error", () => {}).on("close", resolve).resume().end("GET / HTTP/1.1\\r\\nHost:a\\r\\n\\r\\n".repeat(2_600)));
          await closed;
          return reply({ is: "failed", code: "packages_failed", detail: "closed", hint: null });`,
          /^closed$/,
        ],
        [
          `let text = "";
          const twice = "GET /packument/evil HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n".repeat(2);
          await new Promise((resolve) => net.connect(80, "registry").on("data", (chunk) => (text += chunk)).on("error", () => {}).on("close", resolve).write(twice));
          return reply({ is: "failed", code: "packages_failed", detail: text.split("HTTP/1.1 ").length - 1 + " answered", hint: null });`,
          /^0 answered$/,
        ],
      ];
      for (const [body, detail] of cases) {
        const hostile = await realBuilder(registry, { program: takenOver(body) });
        await assert.rejects(buildOf(hostile, orderOf({ evil: "1" })), (error: Error) => {
          assert.match(error.message, detail, body);
          return true;
        });
        await hostile.close();
      }
      const looping = await realBuilder(registry, { program: takenOver("for (;;);"), deadlineMs: 1_000 });
      await assert.rejects(buildOf(looping, orderOf({ evil: "1" })), /within 1 s/);
      await looping.close();
      // The next build is not disturbed.
      assert.deepEqual(versionsOf(await buildOf(builder, orderOf({ evil: "1" }))), ["evil@1.0.0"]);
    },
  );
});

async function openRegistry(t: TestContext): Promise<TestRegistry> {
  const other = await TestRegistry.open();
  t.after(() => other.close());
  return other;
}

async function refused(order: ReturnType<typeof orderOf>, code: string, detail: RegExp): Promise<void> {
  await assert.rejects(buildOf(builder, order), (error: Error & { code: string }) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, detail);
    assert.ok(!error.message.includes(TOKEN));
    return true;
  });
}
