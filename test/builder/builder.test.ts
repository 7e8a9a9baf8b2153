import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { runInThisContext } from "node:vm";

import type { z as Zod } from "zod";

import type { Problem } from "../../src/errors.ts";
import { type Builder, keyOfLock, type Rejection, type Text } from "../../src/packages/model.ts";
import { Transforms } from "../../src/packages/transforms.ts";
import { buildOf, evaluated, openSandboxOf, orderOf, realBuilder, versionsOf } from "./real-builder.ts";
import { tarballOf } from "./tar.ts";
import { TestRegistry } from "./test-registry.ts";

let registry: TestRegistry;
let builder: Builder;

before(async () => {
  registry = await TestRegistry.open();
  builder = await realBuilder(registry);
});
after(async () => {
  await builder.close();
  registry.close();
});

const CLASSES = `exports.__esModule = true; exports.default = "inner"; exports.named = 1;`;

/** Longer than a guest starts and waits for its first run, before it runs examples. */
const IDLE_MS = 1_000;

/** A run that waits until the end. */
const WAITS = new AbortController().signal;

describe("a build behind the strongest wall of this machine", () => {
  it("bundles a real package, which works by import and by require", async () => {
    registry.publishInstalled("zod");
    const sandbox = await openSandboxOf({ isolation: "auto" });
    const walled = await realBuilder(registry, { sandbox });
    try {
      const built = await buildOf(walled, orderOf({ zod: "^4" }, { entries: ["zod", "zod/mini"] }));
      const { zod, "zod/mini": mini } = evaluated(built);
      for (const { z } of [zod!.import(), zod!.require()] as { z: typeof Zod }[]) {
        assert.deepEqual(z.object({ a: z.string() }).parse({ a: "x", b: 1 }), { a: "x" });
      }
      assert.equal((mini!.import()["string"] as () => { parse(text: string): string })().parse("x"), "x");
      assert.match(built.artefact.toString(), /^\/\/ npm:zod@4\.[\d.]+\/v4\/core\/parse\.js/m);
      assert.equal(built.lock.key, keyOfLock(built.lock));
      const [code] = await transformed(walled, { text: "enum Kind { One = 1 } Kind.One", loader: "ts" });
      assert.equal(evaluate(code!), 1);
    } finally {
      await walled.close();
      await sandbox.close();
    }
  });
});

describe("a builder that was idle before its order", () => {
  it("makes its answer, although it has sent the results of its warm-up", async () => {
    const sandbox = await openSandboxOf({ isolation: "none" });
    const idle = await realBuilder(registry, {
      sandbox: {
        launch: async (kind) => {
          const process = await sandbox.launch(kind);
          if (kind === "builder") await setTimeout(IDLE_MS);
          return process;
        },
      },
    });
    try {
      const [code] = await transformed(idle, { text: "enum Kind { One = 1 } Kind.One", loader: "ts" });
      assert.equal(evaluate(code!), 1);
    } finally {
      await idle.close();
      await sandbox.close();
    }
  });
});

function evaluate(text: string): unknown {
  return runInThisContext(text);
}

/** Returns what the package `ways` offers in an artefact, and the text of the artefact. */
async function waysOf(...entries: string[]): Promise<[string[], string]> {
  const order = orderOf({ ways: "1" });
  const built = await buildOf(builder, { ...order, set: { ...order.set, entries } });
  return [Object.keys(evaluated(built)["ways"]!), built.artefact.toString()];
}

describe("an entry", () => {
  it("gives what import and require give in Node, for CommonJS and for ES modules", async () => {
    registry.publish("cjs", "1.0.0", {
      "index.js": "module.exports = function f() { return 1 }; module.exports.member = 2;",
    });
    registry.publish("compiled", "1.0.0", { "index.js": CLASSES });
    registry.publish(
      "esm",
      "1.0.0",
      { "index.js": "export let count = 0; export const add = () => count++; export default 7" },
      {
        manifest: { type: "module", exports: "./index.js" },
      },
    );
    registry.publish(
      "user",
      "1.0.0",
      {
        "index.mjs": `import inner, { named } from "compiled"; import f from "cjs"; export const seen = [inner.default, named, f()]`,
      },
      { manifest: { exports: "./index.mjs", dependencies: { compiled: "1", cjs: "1" } } },
    );
    const { cjs, compiled, esm, user } = evaluated(
      await buildOf(builder, orderOf({ cjs: "1", compiled: "1", esm: "1", user: "1" })),
    );
    assert.equal((cjs!.import()["default"] as () => number)(), 1);
    assert.equal(cjs!.import()["member"], 2);
    assert.equal((cjs!.require() as () => number)(), 1);
    assert.deepEqual(
      { ...(compiled!.import()["default"] as object) },
      { __esModule: true, default: "inner", named: 1 },
    );
    const namespace = esm!.import();
    (namespace["add"] as () => void)();
    assert.deepEqual([namespace["count"], namespace["default"], "__esModule" in namespace], [1, 7, false]);
    assert.equal((esm!.require() as { count: number; __esModule: boolean }).count, 1);
    assert.deepEqual(user!.import()["seen"], ["inner", 1, 1]);
  });

  it("is the same for import if it is the only one, which no object holds", async () => {
    registry.publish("listed", "1.0.0", { "index.js": "module.exports = new Proxy({ a: 1 }, {})" });
    for (const [name, expected] of [
      ["compiled", { default: { __esModule: true, default: "inner", named: 1 }, named: 1 }],
      ["listed", { default: { a: 1 }, a: 1 }],
    ] as const) {
      const order = orderOf({ [name]: "1" });
      const alone = { ...order, set: { ...order.set, entries: [name] } };
      const { default: main, ...others } = evaluated(await buildOf(builder, alone))[name]!.import();
      delete others["__esModule"];
      assert.deepEqual({ ...others, default: { ...(main as object) } }, expected);
    }
  });

  it("is built only for the ways in which code asks for it", async () => {
    registry.publish(
      "ways",
      "1.0.0",
      { "a.mjs": "export default 'import only'", "b.cjs": "module.exports = 'require only'" },
      {
        manifest: { exports: { import: "./a.mjs", require: "./b.cjs" } },
      },
    );
    const [imported, text] = await waysOf("ways");
    assert.deepEqual([imported, text.includes("require only")], [["import"], false]);
    const [required, other] = await waysOf("require:ways");
    assert.deepEqual([required, other.includes("import only")], [["require"], false]);
    assert.deepEqual((await waysOf("require:ways", "ways"))[0], ["import", "require"]);
  });

  it("is evaluated when it is first used, shares modules with others, and lists the entries of a package that does not have it", async () => {
    registry.publish("parts", "1.0.0", {
      "a.js": `globalThis.partsLog = [...(globalThis.partsLog ?? []), "a"]; exports.state = require("./state.js")`,
      "b.js": `exports.state = require("./state.js")`,
      "state.js": "module.exports = {}",
    });
    const order = orderOf(
      { parts: "1" },
      { entries: ["parts/a", "parts/a.js", "parts/b", "parts/none", "parts/../x"] },
    );
    const entries = evaluated(await buildOf(builder, order));
    assert.deepEqual(Object.keys(entries), ["parts/a", "parts/a.js", "parts/b", "parts/none", "parts/../x"]);
    assert.deepEqual([entries["parts/none"], entries["parts/../x"]], [[], []], "it states none");
    assert.equal((globalThis as { partsLog?: unknown }).partsLog, undefined);
    const [a, b] = ["parts/a", "parts/b"].map((name) => entries[name]!.require() as { state: object });
    assert.equal(a!.state, b!.state);
    entries["parts/a.js"]!.import();
    assert.deepEqual((globalThis as { partsLog?: unknown }).partsLog, ["a"]);
  });

  it("is found by the rules of Node: exports with conditions and patterns, imports, and folders", async () => {
    registry.publish(
      "rules",
      "1.0.0",
      {
        "lib/import.mjs": `import { host } from "#host"; import own from "rules/json"; export default ["import", host, own.name]`,
        "lib/require.cjs": `module.exports = ["require", require("./folder").here, require("#host").host]`,
        "lib/folder/package.json": `{"main": "main.js"}`,
        "lib/folder/main.js": `exports.here = true`,
        "lib/host.js": `exports.host = "node"`,
        "features/deep/x.js": `module.exports = "x"`,
        "features/hidden/y.js": `module.exports = "y"`,
      },
      {
        manifest: {
          imports: { "#host": { browser: "./lib/none.js", node: "./lib/host.js" } },
          exports: {
            ".": { browser: "./none.js", import: "./lib/import.mjs", require: "./lib/require.cjs" },
            "./json": "./package.json",
            "./features/*": "./features/*.js",
            "./features/hidden/*": null,
          },
        },
      },
    );
    const order = orderOf(
      { rules: "1" },
      { entries: ["rules", "rules/features/deep/x", "rules/features/hidden/y", "rules/lib/host.js"] },
    );
    const entries = evaluated(await buildOf(builder, order));
    const stated = ["rules", "rules/json"];
    assert.deepEqual([entries["rules/features/hidden/y"], entries["rules/lib/host.js"]], [stated, stated]);
    assert.deepEqual(entries["rules"]!.import()["default"], ["import", "node", "rules"]);
    assert.deepEqual(entries["rules"]!.require(), ["require", true, "node"]);
    assert.equal(entries["rules/features/deep/x"]!.require(), "x");
  });
});

describe("the resolution", () => {
  it("takes the newest version that each range allows, the same for all where it can, and skips optional packages", async () => {
    registry.publish("leaf", "1.0.0", { "index.js": "module.exports = 1" });
    registry.publish("leaf", "1.2.0", { "index.js": "module.exports = 1.2" });
    registry.publish("leaf", "2.0.0", { "index.js": "module.exports = 2" });
    registry
      .publish("leaf", "3.0.0-rc.1", { "index.js": "module.exports = 3" })
      .tag("leaf", "latest", "2.0.0")
      .tag("leaf", "next", "3.0.0-rc.1");
    registry.publish(
      "old",
      "1.0.0",
      { "index.js": `module.exports = require("leaf")` },
      {
        manifest: { dependencies: { leaf: "^1.0.0", gone: "1" }, optionalDependencies: { gone: "1" } },
      },
    );
    registry.publish(
      "new",
      "1.0.0",
      { "index.js": `module.exports = require("other") && require("_leaf")` },
      { manifest: { dependencies: { other: "npm:leaf@*", _leaf: "npm:leaf@*" } } },
    );
    const built = await buildOf(builder, orderOf({ new: "*", old: "1.x" }));
    assert.deepEqual(versionsOf(built), ["leaf@1.2.0", "leaf@2.0.0", "new@1.0.0", "old@1.0.0"]);
    const entries = evaluated(built);
    assert.deepEqual([entries["new"]!.require(), entries["old"]!.require()], [2, 1.2]);
    assert.deepEqual(built.lock.roots, { new: "new@1.0.0", old: "old@1.0.0" });
    assert.deepEqual(built.lock.packages.find(({ name }) => name === "new")!.dependencies, {
      _leaf: "leaf@2.0.0",
      other: "leaf@2.0.0",
    });
    assert.deepEqual(versionsOf(await buildOf(builder, orderOf({ leaf: "next" }))), ["leaf@3.0.0-rc.1"]);
  });

  it("installs peers, gives a package the peer of the set, and refuses a peer that does not fit", async () => {
    registry.publish("ui", "18.0.0", { "index.js": "module.exports = 18" });
    registry.publish("ui", "19.0.0", { "index.js": "module.exports = 19" });
    const plugin = { "index.js": `module.exports = require("ui")` };
    registry.publish("plugin", "1.0.0", plugin, {
      manifest: {
        peerDependencies: { ui: "18 || 19", extra: "1" },
        peerDependenciesMeta: { extra: { optional: true } },
      },
    });
    const alone = evaluated(await buildOf(builder, orderOf({ plugin: "1" })));
    assert.equal(alone["plugin"]!.require(), 19);
    const together = evaluated(await buildOf(builder, orderOf({ plugin: "1", ui: "18" })));
    assert.equal(together["plugin"]!.require(), 18);
    registry.publish("ui", "20.0.0", { "index.js": "module.exports = 20" });
    await refused(
      orderOf({ plugin: "1", ui: "20" }),
      "packages_failed",
      /plugin@1\.0\.0 needs ui@18 \|\| 19 next to it/,
    );
  });

  it("keeps the versions of a lock, except those to update, and does not ask the registry for a whole lock", async () => {
    registry.publish("moving", "1.0.0", { "index.js": "module.exports = 1" });
    registry.publish("staying", "1.0.0", { "index.js": "module.exports = 1" });
    const order = orderOf({ moving: "^1", staying: "^1" });
    const { lock } = await buildOf(builder, order);
    for (const name of ["moving", "staying"]) registry.publish(name, "1.1.0", { "index.js": "module.exports = 1.1" });
    registry.requests.length = 0;
    const again = await buildOf(builder, { ...order, from: lock });
    assert.equal(again.lock.key, lock.key);
    assert.deepEqual(registry.requests.toSorted(), ["/moving/-/moving-1.0.0.tgz", "/staying/-/staying-1.0.0.tgz"]);
    const updated = await buildOf(builder, { ...order, from: lock, update: ["moving"] });
    assert.deepEqual(versionsOf(updated), ["moving@1.1.0", "staying@1.0.0"]);
    const wider = await buildOf(builder, { ...orderOf({ leaf: "1", moving: "^1", staying: "^1" }), from: lock });
    assert.deepEqual(versionsOf(wider), ["leaf@1.2.0", "moving@1.0.0", "staying@1.0.0"]);
  });

  it("builds a lock again whose tarballs are at places that only descriptions state", async () => {
    const place = "/download/elsewhere/1.0.0/0a1b2c";
    const elsewhere = { "index.js": "module.exports = 1" };
    const dist = { tarball: new URL(place, registry.url).href };
    const tarball = tarballOf({ "package.json": "{}", ...elsewhere });
    registry.publish("elsewhere", "1.0.0", elsewhere, { tarball, dist });
    registry.instead.set(place, (_, response) => response.end(tarball));
    registry.instead.set("/elsewhere/-/elsewhere-1.0.0.tgz", (_, response) => response.writeHead(404).end());
    const order = orderOf({ elsewhere: "^1" });
    const { lock } = await buildOf(builder, order);
    registry.publish("elsewhere", "1.1.0", elsewhere);
    assert.equal((await buildOf(builder, { ...order, from: lock })).lock.key, lock.key);
  });

  it("takes what a package has in its own archive from there, and not from the registry", async () => {
    registry.publish("private-part", "9.0.0", { "index.js": `module.exports = "a stranger's"` });
    const manifest = { dependencies: { "private-part": "*", staying: "1" }, bundleDependencies: ["private-part"] };
    registry.publish(
      "bundles",
      "1.0.0",
      {
        "lib/index.js": `module.exports = [require("private-part"), require("private-part/sub")]`,
        "node_modules/private-part/package.json": `{"main": "main.js"}`,
        "node_modules/private-part/main.js": `module.exports = require("other-part")`,
        "node_modules/private-part/sub.js": `module.exports = "sub"`,
        "node_modules/other-part/package.json": `{"exports": {"require": "./r.js", "import": "./i.js"}}`,
        "node_modules/other-part/r.js": `module.exports = "own"`,
      },
      { manifest: { ...manifest, main: "lib/index.js" } },
    );
    const built = await buildOf(builder, orderOf({ bundles: "1" }));
    assert.deepEqual(
      built.lock.packages.map(({ name }) => name),
      ["bundles", "staying"],
    );
    assert.deepEqual(evaluated(built)["bundles"]!.require(), ["own", "sub"]);
  });

  it("takes no version that is younger than the least age", async () => {
    registry.publish("fresh", "1.0.0", { "index.js": "module.exports = 1" }, { time: "2020-01-01T00:00:00Z" });
    registry.publish("fresh", "1.1.0", { "index.js": "module.exports = 1.1" }, { time: new Date().toISOString() });
    const minAgeMs = 86_400_000;
    assert.deepEqual(versionsOf(await buildOf(builder, orderOf({ fresh: "^1" }, { minAgeMs }))), ["fresh@1.0.0"]);
    assert.deepEqual(versionsOf(await buildOf(builder, orderOf({ fresh: "latest" }, { minAgeMs }))), ["fresh@1.0.0"]);
    await refused(
      orderOf({ fresh: "1.1" }, { minAgeMs }),
      "packages_not_found",
      /fresh is "1\.1" and older than --npm-min-age/,
    );
    registry.publish("young", "1.0.0", {}, { time: new Date().toISOString() });
    registry.publish("wants", "1.0.0", {}, { manifest: { dependencies: { young: "1" } } });
    registry.publish("timeless", "1.0.0", {}, { time: "" });
    registry.instead.set("/timeless", (_, response) => response.end('{"versions": {"1.0.0": {}}}'));
    await refused(
      orderOf({ wants: "1" }, { minAgeMs }),
      "packages_not_found",
      /no version of young is "1" and older than --npm-min-age; wants@1\.0\.0 depends on it/,
      /^Wait until a version is old enough, or ask the operator/,
    );
    await refused(
      orderOf({ timeless: "1" }, { minAgeMs }),
      "packages_not_found",
      /no version of timeless is "1"/,
      /the operator has to set --npm-min-age 0s\.$/,
    );
  });
});

describe("a module that computes the names of files", () => {
  const LOCALES = { "locale/de.js": `module.exports = "de"`, "locale/é/index.js": `exports.name = "é"` };

  it("finds by require and by import what it would find in Node, also by another name of require", async () => {
    registry.publish("computes", "1.0.0", {
      "index.js": `// require("./locale/" + name)
        let aliased;
        aliased = require;
        exports.plus = (name) => require("./locale/" + name);
        exports.template = (name) => require(\`./locale/\${name}.js\`);
        exports.concat = (name) => require("./loc".concat(name));
        exports.aliased = (name) => aliased('./locale/' + name);
        exports.imported = (name) => import(/* webpackChunkName: "x" */ "./locale/" + name + ".js");`,
      ...LOCALES,
      "locale/broken.json": `{"a": 1}`,
      "locale/types.d.ts": "<",
    });
    const computes = evaluated(await buildOf(builder, orderOf({ computes: "1" })))["computes"]!.require() as Record<
      string,
      (name: string) => unknown
    >;
    assert.deepEqual([computes["plus"]!("de"), computes["plus"]!("de.js")], ["de", "de"]);
    assert.deepEqual([computes["plus"]!("é"), computes["plus"]!("broken")], [{ name: "é" }, { a: 1 }]);
    assert.deepEqual([computes["template"]!("de"), computes["concat"]!("ale/de")], ["de", "de"]);
    assert.equal(computes["aliased"]!("de"), "de");
    assert.equal(((await computes["imported"]!("de")) as { default: string }).default, "de");
    for (const way of ["plus", "aliased"]) {
      assert.throws(() => computes[way]!("none"), { code: "MODULE_NOT_FOUND", message: /'\.\/locale\/none'/ });
    }
  });

  it("is built without the files if one of them cannot be built, and throws where it asks for one", async () => {
    const code = `exports.get = (name) => require("./locale/" + name); exports.one = 1;`;
    registry.publish("spoilt", "1.0.0", { "index.js": code, ...LOCALES, "locale/test.js": "import './gone.js'; <" });
    const { get, one } = evaluated(await buildOf(builder, orderOf({ spoilt: "1" })))["spoilt"]!.require() as {
      get: (name: string) => unknown;
      one: number;
    };
    assert.equal(one, 1);
    assert.throws(() => get("de"), { code: "MODULE_NOT_FOUND" });
  });
});

describe("a set that cannot be built", () => {
  it("is refused with the package and the cause", async () => {
    const code = { "index.js": "module.exports = 1" };
    registry.publish("addon", "1.0.0", { ...code, "binding.gyp": "{}" });
    registry.publish("prebuilt", "1.0.0", { ...code, "build/x.node": "\x7fELF" });
    registry.publish("compiles", "1.0.0", code, { manifest: { scripts: { install: "node-gyp rebuild" } } });
    registry.publish(
      "waits",
      "1.0.0",
      { "index.mjs": "await 1; export default 1" },
      { manifest: { exports: "./index.mjs" } },
    );
    registry.publish("broken", "1.0.0", { "index.js": "import './gone.js'" });
    registry.publish("data", "1.0.0", { "data.txt": "1" });
    registry.publish("git", "1.0.0", code, { manifest: { dependencies: { leaf: "git+ssh://host/leaf.git" } } });
    registry.publish("wide", "1.0.0", { "index.js": `module.exports = ${JSON.stringify("x".repeat(11 * 2 ** 20))}` });
    for (const name of ["addon", "prebuilt", "compiles"])
      await refused(orderOf({ [name]: "1" }), "packages_native", new RegExp(`^${name}@1\\.0\\.0`));
    await refused(
      orderOf({ waits: "1" }),
      "packages_failed",
      /^waits@1\.0\.0\/index\.mjs:1: top-level await is not supported in packages$/,
    );
    await refused(orderOf({ broken: "1" }), "packages_failed", /\.\/gone\.js does not exist in broken@1\.0\.0/);
    await refused(orderOf({ data: "1" }), "packages_failed", /the package data has no module with its own name/);
    await refused(orderOf({ git: "1" }), "packages_failed", /git@1\.0\.0 depends on "leaf" as "git\+ssh/);
    await refused(orderOf({ wide: "1" }), "packages_too_large", /more than 10 MiB of code/);
    await refused(orderOf({ nowhere: "1" }), "packages_not_found", /the package nowhere does not exist/, /^$/);
    await refused(
      orderOf({ axois: "1" }),
      "packages_not_found",
      /the package axois does not/,
      /^Did you mean axios\?$/,
    );
    await refused(
      orderOf({ Zod: "*" }),
      "packages_not_found",
      /^the package Zod does not exist at the registry$/,
      /^npm has names in lower case; did you mean zod\?$/,
    );
    await refused(
      orderOf({ leaf: "^9" }),
      "packages_not_found",
      /no version of leaf is "\^9"/,
      /^The newest version that may be used is "2\.0\.0"\.$/,
    );
  });

  it("is built without a package that has only types, which no code can import", async () => {
    registry.publish("@types/leaf", "1.0.0", { "index.d.ts": "export {}" });
    const entries = evaluated(await buildOf(builder, orderOf({ "@types/leaf": "*", leaf: "2" })));
    assert.deepEqual([entries["leaf"]!.require(), entries["@types/leaf"]], [2, []]);
  });

  it("is refused if it has more than 200 packages", async () => {
    const dependencies = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`many-${index}`, "1"]));
    for (const name of Object.keys(dependencies)) registry.publish(name, "1.0.0", { "index.js": "" });
    registry.publish("many", "1.0.0", { "index.js": "" }, { manifest: { dependencies } });
    await refused(orderOf({ many: "1" }), "packages_too_large", /more than 200 packages/);
  });

  it("fails at run time, and only where it is needed, if an optional package is missing", async () => {
    registry.publish("tries", "1.0.0", {
      "index.js": `try { require("bufferutil") } catch (error) { module.exports = error.code }`,
    });
    assert.equal(evaluated(await buildOf(builder, orderOf({ tries: "1" })))["tries"]!.require(), "MODULE_NOT_FOUND");
  });
});

describe("a transform", () => {
  it("makes JavaScript of decorators, parameter properties and JSX, with a map to the text", async () => {
    const text = "class A { constructor(@inject private readonly b: number) {} }\nexport const c = <b>{new A(1)}</b>;";
    const [code, enumeration] = await transformed(
      builder,
      { text, loader: "tsx" },
      { text: "enum Kind { One = 1, Café = 2 } Kind.Café", loader: "ts" },
    );
    assert.equal(evaluate(enumeration!), 2);
    assert.match(code!, /React\.createElement\("b"/);
    const [, map] = /sourceMappingURL=data:application\/json;base64,(.+)/.exec(code!)!;
    assert.deepEqual((JSON.parse(Buffer.from(map!, "base64").toString()) as { sources: string[] }).sources, ["task"]);
    const long = `const text: string = "${"x".repeat(3 * 2 ** 20)}";`;
    assert.ok((await transformed(builder, { text: long, loader: "ts" }))[0]!.length > 3 * 2 ** 20);
  });

  it("of a text on which esbuild does not end fails at its deadline, once for all runs of the text", async () => {
    // esbuild reads each "a ? (b) : c =>" in two ways, and each of these contains all the rest.
    const text = `@a class B { c = ${"0?(a):a=>".repeat(30)}a${":0".repeat(30)} }`;
    const hasty = await realBuilder(registry, { transformMs: 1_500 });
    let made = 0;
    const transforms = new Transforms((...order) => {
      made += 1;
      return hasty.transform(...order);
    });
    for (let run = 0; run < 3; run++) {
      await assert.rejects(transforms.transform([{ text, loader: "ts" }], "test", WAITS), { code: "packages_failed" });
    }
    assert.equal(made, 1);
  });

  it("ends when no run waits for it, also if esbuild would not end", async () => {
    const text = `@a class B { c = ${"0?(a):a=>".repeat(31)}a${":0".repeat(31)} }`;
    const run = new AbortController();
    const made = builder.transform([{ text, loader: "ts" }], "test", run.signal);
    run.abort(new Error("the run has ended"));
    await assert.rejects(made, /the run has ended/);
  });

  it("refuses the first text that does not parse, with its place and the line", async () => {
    const texts: Text[] = [
      { text: "const a: number = 1;", loader: "ts" },
      { text: "const a: number = 1;\nconst b = <;", loader: "tsx" },
      { text: "<", loader: "tsx" },
    ];
    const rejection = (await builder.transform(texts, "test", WAITS)) as Rejection;
    assert.equal(rejection.at, 1);
    assert.match(rejection.rejected, /line 2, column 12\)\nconst b = <;\n {11}\^/);
  });
});

/** Makes JavaScript of texts that the builder accepts. */
async function transformed(of: Builder, ...texts: readonly Text[]): Promise<readonly string[]> {
  const made = await of.transform(texts, "test", WAITS);
  if ("rejected" in made) assert.fail(made.rejected);
  return made;
}

async function refused(
  order: ReturnType<typeof orderOf>,
  code: string,
  detail: RegExp,
  hint: RegExp = /^/,
): Promise<void> {
  await assert.rejects(buildOf(builder, order), (error: Problem) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, detail);
    assert.match(error.options.hint ?? "", hint);
    return true;
  });
}
