import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { type Code, codeOf, CodeTable } from "../../../src/containers/guest/code-table.ts";
import { decodeCode } from "../../../src/wire/code-message.ts";
import { HEADER_BYTES } from "../../../src/wire/frames.ts";
import { TO_GUEST } from "../../../src/wire/messages.ts";
import { decodePackages, SCRIPT_HEAD, SCRIPT_TAIL } from "../../../src/wire/package-message.ts";

function code(source: string | Buffer, typescript = false, modules: Record<string, string> | null = null): Code {
  return codeOf({ source: Buffer.from(source), typescript, modules });
}

const NAMES: Readonly<Record<number, string>> = {
  [TO_GUEST.code]: "code",
  [TO_GUEST.forget]: "forget",
  [TO_GUEST.packages]: "packages",
  [TO_GUEST.forgetPackages]: "forgetPackages",
};

/** Returns a table and the frames that it sends: the name of each with its id. */
function table(): { codes: CodeTable; sent: string[]; payloads: Buffer[] } {
  const sent: string[] = [];
  const payloads: Buffer[] = [];
  const codes = new CodeTable((frame) => {
    sent.push(`${NAMES[frame[4]!]} ${frame.readUInt32LE(5)}`);
    payloads.push(frame.subarray(9));
  });
  return { codes, sent, payloads };
}

function withPackages(source: string, key: string, bytes = 1): Code {
  const packages = { key, artefact: Buffer.alloc(bytes) };
  return codeOf({ source: Buffer.from(source), typescript: false, modules: null, packages });
}

describe("codeOf", () => {
  it("gives two codes the same key if and only if a guest sees no difference", () => {
    const source = fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes));
    const text = fc.string({ maxLength: 3, unit: fc.constantFrom("a", "Ā", "ā", '"', "{") });
    const modules = fc.oneof(fc.constant(null), fc.dictionary(text, text, { maxKeys: 2 }));
    const any = fc.tuple(source, fc.boolean(), modules);
    fc.assert(
      fc.property(any, any, (one, other) => {
        const seen = ([bytes, typescript, files]: typeof one): string =>
          JSON.stringify([bytes.toString("hex"), typescript, files]);
        assert.equal(code(...one).key === code(...other).key, seen(one) === seen(other));
      }),
      { numRuns: 2_000 },
    );
  });

  it("does not confuse source text with the marks for TypeScript, last values and modules", () => {
    const source = Buffer.from("a");
    const keys = [
      codeOf({ source, typescript: false, modules: null, lastValue: true }).key,
      codeOf({ source, typescript: true, modules: null, lastValue: true }).key,
      codeOf({ source, typescript: false, modules: {}, lastValue: true }).key,
      code("a").key,
      code("a", true).key,
      code("a\u{101}true").key,
      code("a", false, {}).key,
      code("a\u{100}{}").key,
      withPackages("a", "k").key,
      withPackages("a", "k\u{102}").key,
      withPackages("a\u{103}k", "k").key,
      code("a\u{103}k").key,
    ];
    assert.equal(new Set(keys).size, keys.length);
  });

  it("gives a long source that ends like the digest of a source with modules another key", () => {
    const source = "a".repeat(600);
    const modules = { "./b.js": "export const b = 1;" };
    const forged = `${source}\0${source.length}\0${JSON.stringify(modules)}`;
    assert.notEqual(code(source, false, modules).key, code(forged).key);
    assert.notEqual(code(source, false, modules).key, code(forged, false, {}).key);
  });
});

describe("the codes that a guest holds", () => {
  it("are sent as a whole at their first use, and not again while the guest holds them", () => {
    const { codes, sent, payloads } = table();
    const typed = code("let a: number = 1", true, { "./b.ts": "export {}" });
    const known = codes.use(typed);
    assert.equal(codes.use(code("let a: number = 1", true, { "./b.ts": "export {}" })), known);
    assert.notEqual(codes.use(code("let a: number = 1")).id, known.id);
    assert.equal(sent.length, 2);
    const { source, ...rest } = decodeCode(payloads[0]!);
    assert.equal(Buffer.from(source).toString(), "let a: number = 1");
    assert.deepEqual(rest, { typescript: true, modules: { "./b.ts": "export {}" } });
  });

  it("need their context until the guest has reported otherwise for the same code", () => {
    const { codes } = table();
    const [one, other] = [codes.use(code("1")), codes.use(code("2"))];
    codes.compiled(one.id, Buffer.of(0, 1));
    codes.compiled(999, Buffer.of(0, 0));
    assert.deepEqual([one.needsContext, other.needsContext], [false, true]);
    codes.compiled(one.id, Buffer.of(1, 2));
    assert.equal(codes.use(code("1")).needsContext, true);
  });

  it("answer by their value until the guest has reported another known form", () => {
    const { codes } = table();
    const known = codes.use(code("1"));
    const reported = [Buffer.of(0, 1), Buffer.of(1, 2), Buffer.of(0, 9), Buffer.of(0)].map((payload) => {
      codes.compiled(known.id, payload);
      return known.answersBy;
    });
    assert.deepEqual(reported, ["callback", "response", "value", "value"]);
  });

  it("are at most a thousand: the oldest is forgotten before another is sent, and is sent again at its next use", () => {
    const { codes, sent } = table();
    for (let count = 0; count < 1_000; count++) codes.use(code(`${count}`));
    assert.equal(sent.length, 1_000);
    codes.use(code("one more"));
    assert.deepEqual(sent.slice(1_000), ["forget 1", "code 1001"]);
    codes.use(code("1"));
    assert.equal(sent.length, 1_002);
    codes.use(code("0"));
    assert.deepEqual(sent.slice(1_002), ["forget 2", "code 1002"]);
  });

  it("are limited in bytes, whatever their number, but one code is always held", () => {
    const { codes, sent } = table();
    const large = Buffer.alloc(17 * 2 ** 20, "x");
    for (const mark of ["a", "b"]) codes.use(code(Buffer.concat([large, Buffer.from(mark)])));
    assert.deepEqual(sent, ["code 1", "forget 1", "code 2"]);
    const larger = Buffer.alloc(40 * 2 ** 20, "x");
    codes.use(code(larger));
    assert.deepEqual(sent.slice(3), ["forget 2", "code 3"]);
    codes.use(code(larger));
    assert.equal(sent.length, 5);
  });

  it("ignore a report of a code that the guest should have forgotten", () => {
    const { codes } = table();
    const oldest = codes.use(code("0"));
    for (let count = 1; count <= 1_000; count++) codes.use(code(`${count}`));
    codes.compiled(oldest.id, Buffer.of(0, 0));
    assert.equal(codes.use(code("0")).needsContext, true);
  });
});

describe("the packages that a guest holds", () => {
  it("are sent once before the first code that names them, with the bytes of the artefact and no copy of them", () => {
    const pushed: Buffer[][] = [];
    const cache = Buffer.alloc(7);
    const codes = new CodeTable(
      (...parts) => pushed.push(parts),
      () => cache,
    );
    const first = withPackages("1", "zod");
    codes.use(first);
    codes.use(withPackages("2", "zod"));
    assert.deepEqual(
      pushed.map(([frame]) => NAMES[frame![4]!]),
      ["packages", "code", "code"],
    );
    const [head, ...parts] = pushed[0]!;
    const { artefact } = first.packages!;
    assert.ok(parts.includes(artefact) && parts.includes(cache));
    const payload = Buffer.concat(parts);
    assert.equal(head!.readUInt32LE(0), 5 + payload.length);
    const { script, cache: sent } = decodePackages(payload);
    assert.deepEqual([script, sent], [Buffer.from(`${SCRIPT_HEAD}\0${SCRIPT_TAIL}`), cache]);
    // V8 would copy it from any other place.
    assert.equal((HEADER_BYTES + sent!.byteOffset - payload.byteOffset) % 8, 0);
    const named = pushed.slice(1).map(([frame]) => decodeCode(frame!.subarray(9)).packagesId);
    assert.deepEqual(named, [1, 1]);
  });

  it("are not named by a code without packages", () => {
    const { codes, payloads } = table();
    codes.use(code("1"));
    assert.equal("packagesId" in decodeCode(payloads[0]!), false);
  });

  it("are limited in bytes: the least recently named go first, after the codes that name them", () => {
    const { codes, sent } = table();
    const half = 32 * 2 ** 20;
    codes.use(withPackages("1", "a", half));
    codes.use(withPackages("2", "b", half));
    codes.use(withPackages("3", "a", half));
    assert.deepEqual(sent, ["packages 1", "code 1", "packages 2", "code 2", "code 3"]);
    codes.use(withPackages("4", "c", 1));
    assert.deepEqual(sent.slice(5), ["forget 2", "forgetPackages 2", "packages 3", "code 4"]);
    codes.use(withPackages("2", "b", half));
    assert.deepEqual(sent.slice(9), ["forget 1", "forget 3", "forgetPackages 1", "packages 4", "code 5"]);
  });

  it("are always held for the last code, also if they are larger than the limit", () => {
    const { codes, sent } = table();
    codes.use(withPackages("1", "a", 80 * 2 ** 20));
    codes.use(withPackages("2", "b", 80 * 2 ** 20));
    assert.deepEqual(sent, ["packages 1", "code 1", "forget 1", "forgetPackages 1", "packages 2", "code 2"]);
  });
});
