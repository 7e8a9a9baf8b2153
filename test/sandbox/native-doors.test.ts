import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";

import { RECORDED } from "./recorded-surface.ts";
import { surfaceOfNode } from "./surface.ts";

const ATTACKS = path.join(import.meta.dirname, "../hostile/attacks");

/**
 * Every known way from JavaScript to native code in the pinned Node: its place, its name, and the attack of the corpus that
 * tries it. The sandbox does not stop the ways without an attack, as SECURITY.md explains.
 */
const DOORS: readonly [place: string, name: string, attack: string | null][] = [
  ["node:sqlite", "DatabaseSync.loadExtension", "escapes/sqlite-extension"],
  ["node:sqlite", "DatabaseSync.enableLoadExtension", "escapes/sqlite-extension-in-worker"],
  ["node:crypto", "setEngine", "escapes/crypto-engine"],
  ["node:process", "dlopen", "escapes/dlopen-libc"],
  ["node:module", "Module.require", "escapes/dlopen-own"],
  ["flags of a thread", "--addons", "escapes/addon-in-worker"],
  ["flags of a thread", "--experimental-addon-modules", "escapes/addon-in-worker"],
  ["node:process", "execve", "processes/execve"],
  ["node:process", "binding", "escapes/process-binding-spawn"],
  ["node:child_process", "spawn", "processes/spawn"],
  ["node:v8", "setFlagsFromString", "escapes/v8-switches-in-worker"],
  ["node:wasi", "WASI", "escapes/wasi-preopens"],
  // Its argument --expose-internals gives access to the function that sets V8's flags, which the guest otherwise refuses.
  ["node:worker_threads", "Worker", null],
  // V8 trusts its cache of compiled code, and a task may pass a forged cache.
  ["node:vm", "Script", null],
  ["node:vm", "compileFunction", null],
  ["node:module", "enableCompileCache", null],
];

describe("the known ways from JavaScript to native code", () => {
  const surface = surfaceOfNode();

  for (const [place, recorded] of Object.entries(RECORDED)) {
    it(`include all that this Node offers: ${place}`, () => {
      const known = new Set(recorded.trim().split(/\s+/));
      assert.deepEqual(
        surface[place]!.split(" ").filter((name) => !known.has(name)),
        [],
        "new in this Node: see recorded-surface.ts",
      );
    });
  }

  for (const [place, name, attack] of DOORS) {
    it(`exist in this Node and have an attack: ${name} of ${place}`, () => {
      assert.ok(surface[place]!.split(" ").includes(name), "not in this Node");
      if (attack !== null) assert.ok(existsSync(path.join(ATTACKS, `${attack}.js`)), attack);
    });
  }

  it("are searched in all recorded places", () => {
    assert.deepEqual(Object.keys(surface), Object.keys(RECORDED));
  });
});
