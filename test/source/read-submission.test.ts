import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Problem } from "../../src/errors.ts";
import { readSubmission, type Submission } from "../../src/source/read-submission.ts";

const LIMITS = { codeBytes: 1_000, jsonDepth: 64, sha256: null };
const JSON_TYPE = "application/json";

async function read(body: string | Buffer, contentType?: string): Promise<Submission> {
  return await readSubmission(typeof body === "string" ? Buffer.from(body) : body, contentType, LIMITS);
}

/** The problem with which a body is rejected. */
async function fault(body: string | Buffer, contentType?: string): Promise<Problem> {
  try {
    await read(body, contentType);
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    return error;
  }
  return assert.fail("the body was accepted");
}

function envelopeFault(body: unknown): Promise<Problem> {
  return fault(JSON.stringify(body), JSON_TYPE);
}

describe("a body of any media type other than JSON", () => {
  it("is the source itself, without a copy", async () => {
    const body = Buffer.from("6 * 7");
    for (const type of [undefined, "", "text/plain", "application/x-www-form-urlencoded", "text/json", "a;b=c"]) {
      const submission = await readSubmission(body, type, LIMITS);
      assert.equal(submission.source, body);
      assert.deepEqual(
        { ...submission, source: null },
        { source: null, typescript: false, modules: null, packages: null, data: null, options: {} },
      );
    }
  });

  it("is TypeScript if its media type is application/typescript", async () => {
    assert.equal((await read("1", "application/typescript")).typescript, true);
    assert.equal((await read("1", "Application/TypeScript ; charset=utf-8")).typescript, true);
    assert.equal((await read("1", "application/javascript")).typescript, false);
    assert.equal((await read("1", "text/plain; a=application/typescript")).typescript, false);
  });

  it("is read without its byte-order mark and without the text of a first line #!", async () => {
    assert.equal((await read("\uFEFF#!/usr/bin/env node\n6 * 7")).source.toString(), "\n6 * 7");
  });

  it("is rejected as code_missing if it is blank", async () => {
    for (const body of ["", " \n\t", "\uFEFF", "#!/usr/bin/env node\n", "\u00A0\u3000"]) {
      assert.equal((await fault(body)).code, "code_missing", JSON.stringify(body));
    }
  });

  it("must be UTF-8", async () => {
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x36, 0xe2, 0x82], [0xfe, 0xff, 0x00, 0x36]]) {
      assert.equal((await fault(Buffer.from(bytes))).code, "request_invalid");
    }
  });

  it("may have as many bytes as the limit allows, and no more", async () => {
    assert.equal((await read("é".repeat(500))).source.length, 1_000);
    const problem = await fault("é".repeat(501));
    assert.equal(problem.code, "code_too_large");
    assert.equal(problem.message, "the code has 1002 bytes; at most 1000 are accepted");
  });
});

describe("a body of JSON", () => {
  it("is an envelope of code, data and modules", async () => {
    const body = JSON.stringify({ code: "6", data: { a: [1, null] }, modules: { "./lib.ts": "7", "./a/b.js": "" } });
    for (const type of [
      JSON_TYPE,
      "APPLICATION/JSON",
      "application/json; charset=UTF-8",
      'application/json;charset="utf8"',
    ]) {
      assert.deepEqual(await read(body, type), {
        source: Buffer.from("6"),
        typescript: false,
        modules: { "./lib.ts": "7", "./a/b.js": "" },
        packages: null,
        data: '{"a":[1,null]}',
        options: {},
      });
    }
  });

  it("requires only the member code", async () => {
    assert.deepEqual(await read('\uFEFF{"code":"\uFEFF#!x\\n6"}', JSON_TYPE), {
      source: Buffer.from("\n6"),
      typescript: false,
      modules: null,
      packages: null,
      data: null,
      options: {},
    });
  });

  it("keeps data unchanged: null, false, and a member __proto__ that pollutes no prototype", async () => {
    assert.equal((await read('{"code":"6","data":null}', JSON_TYPE)).data, "null");
    assert.equal((await read('{"code":"6","data":false}', JSON_TYPE)).data, "false");
    const { data } = await read('{"code":"6","data":{"__proto__":{"polluted":true},"lone":"\\ud800"}}', JSON_TYPE);
    assert.equal(data, '{"__proto__":{"polluted":true},"lone":"\\ud800"}');
    assert.equal(Reflect.get({}, "polluted"), undefined);
  });

  it("is rejected as code_missing if the code is absent or blank", async () => {
    for (const body of [{}, { data: 1 }, { code: "" }, { code: " \n" }, { code: "\uFEFF" }, { code: "#!x" }]) {
      assert.equal((await envelopeFault(body)).code, "code_missing", JSON.stringify(body));
    }
  });

  it("is rejected with all its faults at once", async () => {
    const problem = await envelopeFault({ code: 5, cod: "6", "a/b~c": 1, modules: { "./a.ts": 1, "../b.ts": "" } });
    assert.equal(problem.code, "request_invalid");
    assert.deepEqual(
      new Set(problem.options.violations?.map((violation) => Reflect.get(violation, "pointer"))),
      new Set(["#/code", "#/cod", "#/a~1b~0c", "#/modules/.~1a.ts", "#/modules/..~1b.ts"]),
    );
  });

  it("with very many faults is answered with the first few", async () => {
    const names = Array.from({ length: 25 }, (_, index) => `${index}${"x".repeat(1_000)}`);
    const problem = await envelopeFault({ code: "6", ...Object.fromEntries(names.map((name) => [name, 1])) });
    assert.equal(problem.options.violations?.length, 20);
    assert.ok(JSON.stringify(problem.options.violations).length < 4_000);
    assert.match(problem.message, /24 more/);
  });

  it("with too many members is rejected before the rest of it is checked", async () => {
    assert.match((await fault(`{${members(33)} no JSON`, JSON_TYPE)).message, /more than 32 members/);
    assert.match((await fault(`{${members(32)} no JSON`, JSON_TYPE)).message, /not JSON/);
    for (const name of ["modules", String.raw`\u006dodules`, String.raw`\u006D\u006F\u0064\u0075\u006C\u0065\u0073`]) {
      const open = `{"code":"6","data":{"modules":{}},"${name}":{`;
      assert.match((await fault(`${open}${members(101)} no JSON`, JSON_TYPE)).message, /more than 100 modules/, name);
      assert.match((await fault(`${open}${members(100)} no JSON`, JSON_TYPE)).message, /not JSON/, name);
    }
  });

  it("may have any number of members in data, with any names", async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`:${at}`, 1]));
    const data = { ...many, modules: many, list: [{ modules: many }] };
    assert.equal((await read(JSON.stringify({ modules: {}, data, code: "6" }), JSON_TYPE)).data, JSON.stringify(data));
  });

  it("is rejected for a duplicate member, except within data, where duplicates are allowed as in JavaScript", async () => {
    for (const body of [
      '{"code":"6","code":"6"}',
      '{"code":"6","data":1,"data":2}',
      String.raw`{"code":"6","\u0063ode":"7"}`,
      '{"code":"6","modules":{"./a":"1","./a":"1"}}',
    ]) {
      assert.match((await fault(body, JSON_TYPE)).message, /occurs twice/, body);
    }
    assert.equal((await read('{"code":"6","data":{"a":1,"a":2}}', JSON_TYPE)).data, '{"a":1,"a":2}');
  });

  it("is rejected for any other member, also for __proto__ and constructor", async () => {
    for (const body of ['{"code":"6","__proto__":{}}', '{"code":"6","constructor":1}', '{"__proto__":{"code":"6"}}']) {
      assert.equal((await fault(body, JSON_TYPE)).code, "request_invalid", body);
    }
  });

  it("accepts only plain relative specifiers as names of modules", async () => {
    const good = ["./a.ts", "./a", "./dir/b.test.ts", "./.hidden", "./größe.ts", "./@scope/x.js", "./..a"];
    for (const name of good) await read(JSON.stringify({ code: "6", modules: { [name]: "" } }), JSON_TYPE);
    const bad = [
      ...["a.ts", "/a.ts", "../a.ts", "./", ".", "./../a", "./a/../b", "./a/./b", "./a//b", "./a/", "node:fs", ""],
      ...["https://x/a.ts", "./a?b", "./a#b", "./a%2e", ".\\a", "./a b", "./a\n", "./\ud800", `./${"a".repeat(255)}`],
    ];
    for (const name of bad) {
      assert.equal((await envelopeFault({ code: "6", modules: { [name]: "" } })).code, "request_invalid", name);
    }
    assert.equal((await fault('{"code":"6","modules":{"__proto__":"7"}}', JSON_TYPE)).code, "request_invalid");
    for (const notModules of [null, [], ["./a"], "./a", 1]) {
      assert.equal((await envelopeFault({ code: "6", modules: notModules })).code, "request_invalid");
    }
  });

  it("may have a hundred modules, and no more", async () => {
    assert.equal(
      Object.keys((await read(JSON.stringify({ code: "6", modules: modules(100) }), JSON_TYPE)).modules!).length,
      100,
    );
    assert.match((await envelopeFault({ code: "6", modules: modules(101) })).message, /100/);
  });

  it("has one size limit for code and modules together, which does not count data", async () => {
    const code = "x".repeat(500);
    await read(JSON.stringify({ code, modules: { "./a": "é".repeat(250) }, data: "x".repeat(5_000) }), JSON_TYPE);
    const problem = await envelopeFault({ code, modules: { "./a": "é".repeat(251) } });
    assert.equal(problem.code, "code_too_large");
    assert.match(problem.message, /1002 bytes; at most 1000/);
  });

  it("is rejected for text that UTF-8 cannot encode", async () => {
    assert.equal((await fault('{"code":"\\ud800"}', JSON_TYPE)).code, "request_invalid");
    assert.equal((await fault('{"code":"6","modules":{"./a":"\\udc00"}}', JSON_TYPE)).code, "request_invalid");
    assert.equal((await read('{"code":"\'\\ud83d\\ude00\'"}', JSON_TYPE)).source.toString(), "'😀'");
  });

  it("must be an object", async () => {
    for (const body of ["[]", "null", '"6"', "6", "true"]) {
      assert.equal((await fault(body, JSON_TYPE)).code, "request_invalid", body);
    }
  });

  it("is rejected with the line and column of a syntax error", async () => {
    for (const body of ["", "{", '{"code":}', "6 * 7", '{"code":"a\nb"}', "{'code':1}", '{"code":"6"}}']) {
      const problem = await fault(body, JSON_TYPE);
      assert.equal(problem.code, "request_invalid", body);
      assert.match(problem.message, /^the body is not JSON: .* at line 1, column \d+$/);
    }
  });

  it("above 64 KiB is rejected with the position of a syntax error, but without its cause", async () => {
    const pad = "x".repeat(64 * 2 ** 10);
    for (const [body, message] of [
      [`{"code":"${pad}" x}`, "the body is not JSON: it is malformed at line 1, column 65548"],
      [`{"code":"${pad}",\n"data":[1 2]}`, "the body is not JSON: it is malformed at line 2, column 11"],
      [`{"code":"${pad}","data":`, "the body is not JSON: it ends before the value is complete"],
      [`{"code":"${pad}","data":secret}`, "the body is not JSON: it is malformed at line 1, column 65555"],
    ] as const) {
      assert.equal((await fault(body, JSON_TYPE)).message, message);
    }
    const exact = `{"code":"${pad.slice(0, -10)}x`;
    assert.equal(exact.length, 64 * 2 ** 10);
    assert.match((await fault(exact, JSON_TYPE)).message, /the string ends .* column 65537$/);
    assert.match((await fault(`${exact}x`, JSON_TYPE)).message, /it ends before the value is complete$/);
  });

  it("with a syntax error is never quoted in the answer or in its cause, which is logged", async () => {
    for (const pad of ["", "x".repeat(70_000)]) {
      for (const rest of ["hunter2", '"hunter2" x', '"hunter2', '"hunter2\\q"', "[hunter2]"]) {
        const problem = await fault(`{"code":"${pad}","data":${rest}}`, JSON_TYPE);
        assert.match(problem.message, /^the body is not JSON/);
        assert.equal(problem.cause, undefined);
        assert.ok(!JSON.stringify([problem.message, problem.options]).includes("hunter2"));
      }
    }
  });

  it("of eight MiB is checked without a crash, whether valid or malformed", async () => {
    for (const piece of [String.raw`\n`, String.raw`\u00e9`, "a", String.raw`\\`]) {
      await read(`{"code":"6","data":"${fill(piece)}"}`, JSON_TYPE);
      for (const end of ["", '\\q"}', '\n"}', '"']) {
        assert.match((await fault(`{"code":"6","data":"${fill(piece)}${end}`, JSON_TYPE)).message, /not JSON/);
      }
    }
    for (const piece of ["{},", "[],", "1,", '"",', "\n", "1"]) {
      assert.match((await fault(`{"code":"6","data":[${fill(piece)}`, JSON_TYPE)).message, /not JSON/);
    }
    for (const name of [`./${fill("a/")}a`, fill("é"), fill("~")]) {
      assert.match((await envelopeFault({ code: "6", modules: { [name]: "" } })).message, /relative specifier/);
      assert.match((await envelopeFault({ code: "6", [name]: "" })).message, /not a member/);
    }
  });

  it("must be UTF-8, and must not declare another charset", async () => {
    assert.equal((await fault(Buffer.from([0x22, 0xff, 0x22]), JSON_TYPE)).code, "request_invalid");
    for (const charset of ["iso-8859-1", "utf-16", '"UTF-16LE"', ""]) {
      const problem = await fault('{"code":"6"}', `application/json; charset=${charset}`);
      assert.equal(problem.code, "request_invalid", charset);
    }
  });

  it("may be nested to the limit and no deeper, where brackets in strings do not count", async () => {
    // The envelope is the first level.
    await read(`{"code":"6","data":${nested(63)}}`, JSON_TYPE);
    assert.match(
      (await fault(`{"code":"6","data":${nested(64)}}`, JSON_TYPE)).message,
      /more than 64 levels at byte 82$/,
    );
    const { hint } = (await fault(`{"code":"6","data":${nested(64)}}`, JSON_TYPE)).options;
    assert.match(hint!, /^Send a flatter value, .*--json-depth-limit\.$/);
    await read(JSON.stringify({ code: "6", data: ['\\"[[{'.repeat(50), nested(100)] }), JSON_TYPE);
    assert.match((await fault("[".repeat(1_000_000), JSON_TYPE)).message, /more than 64 levels/);
    assert.match((await fault('{"data":'.repeat(100_000), JSON_TYPE)).message, /more than 64 levels/);
  });
});

/** Returns `count` members of an object, in JSON. */
function members(count: number): string {
  return Array.from({ length: count }, (_, at) => `"${at}":1`).join();
}

/** Repeats the piece to eight MiB. */
function fill(piece: string): string {
  return piece.repeat((8 * 2 ** 20) / piece.length);
}

function modules(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`./m${at}`, ""]));
}

function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}
