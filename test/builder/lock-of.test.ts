import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { lockOf } from "../../src/builder/lock-of.ts";
import { readAnswer } from "../../src/builder/read-answer.ts";
import type { BuildOrder, Lock } from "../../src/packages/model.ts";
import { orderOf } from "./real-builder.ts";

const EVIL = integrity("e");
const OTHER = integrity("o");
const VERSION = { version: "test", at: 0 };

describe("the answer of a builder", () => {
  it("becomes the lock of its order, in one order of packages, with a key that the service computes", () => {
    const packages = [pack("b", OTHER), pack("a", EVIL, { alias: "b@1.0.0" })];
    const passed = new Map([
      ["a@1.0.0", EVIL],
      ["b@1.0.0", OTHER],
    ]);
    const lock = locked(
      { is: "built", packages, roots: { a: "a@1.0.0" } },
      orderOf({ a: "^1" }, { entries: ["a", "a/x"] }),
      passed,
    );
    assert.deepEqual(lock?.packages, packages.toReversed());
    assert.deepEqual(
      [lock?.ranges, lock?.entries, lock?.roots],
      [{ a: "^1" }, ["a", "a/x", "require:a", "require:a/x"], { a: "a@1.0.0" }],
    );
    assert.match(lock?.key ?? "", /^[0-9a-f]{64}$/);
    const other = locked({ is: "built", packages, roots: { a: "a@1.0.0" } }, orderOf({ a: "^1" }), passed);
    assert.notEqual(other?.key, lock?.key);
  });

  it("is refused if it names bytes that did not pass, other packages, or another set", () => {
    const roots = { evil: "evil@1.0.0" };
    const evil = pack("evil", EVIL);
    const lies = [
      // A package that was never fetched, alone and next to the one that was.
      { packages: [pack("victim", OTHER)], roots: { evil: "victim@1.0.0" } },
      { packages: [evil, pack("victim", OTHER)], roots },
      // The bytes of the hostile package under another name or version, and other bytes under its own.
      { packages: [pack("victim", EVIL)], roots: { evil: "victim@1.0.0" } },
      { packages: [pack("victim", EVIL)], roots: { victim: "victim@1.0.0" } },
      { packages: [{ ...evil, version: "1.0.1" }], roots: { evil: "evil@1.0.1" } },
      { packages: [pack("evil", OTHER)], roots },
      // Without the package whose bytes passed, and roots that are not those of the order.
      { packages: [], roots: {} },
      { packages: [evil], roots: {} },
      { packages: [evil], roots: { ...roots, more: "evil@1.0.0" } },
      { packages: [evil], roots: { other: "evil@1.0.0" } },
    ];
    for (const lie of lies) {
      assert.equal(locked({ is: "built", ...lie }, orderOf({ evil: "1" })), null, JSON.stringify(lie));
    }
    assert.equal(locked({ is: "built", packages: [evil], roots }, orderOf({ evil: "^2" })), null);
    assert.ok(locked({ is: "built", packages: [evil], roots }, orderOf({ evil: "latest" })));
    // Different bytes passed under one name.
    assert.equal(
      locked({ is: "built", packages: [evil], roots }, orderOf({ evil: "1" }), new Map([["evil@1.0.0", null]])),
      null,
    );
  });

  it("is refused if it changes what a lock holds", () => {
    const order = orderOf({ evil: "1" });
    const passed = new Map([["evil@1.1.0", OTHER]]);
    const from = locked({ is: "built", packages: [pack("evil", EVIL)], roots: { evil: "evil@1.0.0" } }, order)!;
    const newer = { packages: [{ ...pack("evil", OTHER), version: "1.1.0" }], roots: { evil: "evil@1.1.0" } };
    assert.equal(locked({ is: "built", ...newer }, { ...order, from }, passed), null);
    assert.ok(locked({ is: "built", ...newer }, { ...order, from, update: ["evil"] }, passed));
    const same = { packages: [pack("evil", OTHER)], roots: { evil: "evil@1.0.0" } };
    const update = { ...order, from, update: ["evil"] };
    assert.equal(locked({ is: "built", ...same }, update, new Map([["evil@1.0.0", OTHER]])), null);
  });

  it("is refused if it has another form", () => {
    const honest = { is: "built", packages: [pack("evil", EVIL)], roots: { evil: "evil@1.0.0" } };
    assert.ok(readAnswer(JSON.stringify(honest)));
    const texts = [
      "",
      "null",
      "[]",
      "{",
      JSON.stringify({ ...honest, key: "0" }),
      JSON.stringify({ ...honest, packages: [pack("evil", EVIL), pack("evil", EVIL)] }),
      JSON.stringify({ ...honest, packages: [pack("../evil", EVIL)] }),
      JSON.stringify({ ...honest, packages: [{ ...pack("evil", EVIL), version: "one" }] }),
      JSON.stringify({ ...honest, packages: [pack("evil", "sha512-x")] }),
      JSON.stringify({ ...honest, packages: [pack("evil", EVIL, { zod: "zod@4.0.0" })] }),
      JSON.stringify({ ...honest, packages: [pack("evil", EVIL, { "a b": "evil@1.0.0" })] }),
      JSON.stringify({ ...honest, packages: Array.from({ length: 201 }, (_, index) => pack(`p${index}`, EVIL)) }),
      JSON.stringify({
        ...honest,
        roots: Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`p${at}`, "evil@1.0.0"])),
      }),
      `{"is":"built","packages":[],"roots":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
      `{"is":"built","packages":[],"roots":${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}}`,
      JSON.stringify({ is: "failed", code: "token_invalid", detail: "", hint: null }),
      JSON.stringify({ is: "transformed" }),
      JSON.stringify({ is: "transformed", lengths: [1, -1] }),
      JSON.stringify({ is: "transformed", lengths: [1], at: 0 }),
      JSON.stringify({ is: "rejected", at: 0.5, detail: "" }),
      JSON.stringify({ is: "rejected", at: 0 }),
      JSON.stringify({ is: "failed", code: "packages_failed", detail: "x".repeat(5_000), hint: null }),
    ];
    for (const text of texts) assert.equal(readAnswer(text), null, text.slice(0, 200));
    const polluting = JSON.stringify(honest).replaceAll("{}", '{"__proto__":"evil@1.0.0"}');
    assert.equal(readAnswer(polluting), null);
  });
});

function locked(
  head: object,
  order: BuildOrder,
  passed: ReadonlyMap<string, string | null> = new Map([["evil@1.0.0", EVIL]]),
): Lock | null {
  const answer = readAnswer(JSON.stringify(head));
  if (answer?.is !== "built") return null;
  try {
    return lockOf(order, answer, passed, VERSION);
  } catch (error) {
    assert.match((error as Error).message, /the builder's answer was refused/);
    return null;
  }
}

function pack(name: string, bytes: string, dependencies: object = {}): Lock["packages"][number] {
  return { name, version: "1.0.0", integrity: bytes, dependencies: dependencies as Record<string, string> };
}

function integrity(letter: string): string {
  return `sha512-${letter.repeat(86)}==`;
}
