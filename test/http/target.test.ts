import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import * as fc from "fast-check";

import type { Problem } from "../../src/errors.ts";
import { containerName, decode, holdsKey, parseTarget, publicTarget, taskUrl } from "../../src/http/target.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function liveBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("parseTarget", () => {
  it("splits path and query without decoding the path or the text of the query", () => {
    const target = parseTarget("/api/run/a%2Fb?x=%31&x=2?3");
    assert.equal(target.path, "/api/run/a%2Fb");
    assert.equal(target.search, "x=%31&x=2?3");
    assert.deepEqual(target.query.getAll("x"), ["1", "2?3"]);
  });

  it("returns a path that keeps no long query in memory", () => {
    const paths: string[] = [];
    const beforeBytes = liveBytes();
    for (let at = 0; at < 2_000; at++) {
      const target = Buffer.from(`/api/run/a-long-container-name-${at}?${"x".repeat(15_000)}`).toString("latin1");
      paths.push(parseTarget(target).path.slice("/api/run/".length));
    }
    const grown = liveBytes() - beforeBytes;
    assert.equal(paths.at(-1), "a-long-container-name-1999");
    // The queries have 30 MB.
    assert.ok(grown < 3_000_000, `${grown} bytes`);
  });

  it("returns a target in any other form unchanged, so that no path matches it", () => {
    for (const text of ["*", "example.com:443", "ftp://example.com/api/run/demo", ""]) {
      assert.equal(parseTarget(text).path, text);
    }
  });

  it("does not treat a URL in the query as an absolute form", () => {
    assert.equal(parseTarget("/api/run/demo?task_url=http://example.com/x").path, "/api/run/demo");
  });
});

describe("decode", () => {
  it("decodes once, and returns null for escapes that are not UTF-8", () => {
    assert.equal(decode("a%2520b"), "a%20b");
    assert.equal(decode("%C3%A4"), "ä");
    for (const broken of ["%", "%4", "%zz", "%ff", "%C3", "%ED%A0%80"]) assert.equal(decode(broken), null);
  });
});

describe("containerName", () => {
  it("reports the refused name, cut to a limited length, and the characters of a valid name", () => {
    assert.throws(
      () => containerName(`..%2F${"x".repeat(10_000)}`),
      (problem: Problem) => {
        assert.equal(problem.code, "container_invalid");
        assert.ok(problem.message.startsWith('"../xxx'));
        assert.ok(problem.message.length < 200);
        assert.match(problem.options.hint!, /1 to 128/);
        return true;
      },
    );
  });

  it("refuses every segment whose decoded text is not a valid name, and returns every valid name", () => {
    const isName = /^\w[\w.@-]{0,127}$/;
    fc.assert(
      fc.property(fc.string({ maxLength: 140, unit: fc.constantFrom(..."aZ0_.@-%/\\ \n\0ä2Ff".split("")) }), (text) => {
        const parse = (): string => containerName(encodeURIComponent(text));
        if (isName.test(text)) assert.equal(parse(), text);
        else assert.throws(parse, { code: "container_invalid" });
      }),
    );
  });
});

function read(search: string): string | null {
  return taskUrl(parseTarget(`/?${search}`).query);
}

describe("taskUrl", () => {
  it("returns the decoded task_url of the query, or null if the query contains none", () => {
    assert.equal(read("task_url=http%3A%2F%2Fa%2F%3Fb"), "http://a/?b");
    assert.equal(read("a=1"), null);
    assert.equal(taskUrl(parseTarget("/").query), null);
  });

  it("refuses other reserved names, even if they are escaped, and reports them", () => {
    for (const name of ["task_urls", "task_", "task%5fid", "%74ask_URL"]) {
      assert.throws(() => read(`${name}=1`), {
        code: "request_invalid",
        message: new RegExp(decodeURIComponent(name)),
      });
    }
  });

  it("refuses a second task_url, even if one of the names is escaped", () => {
    assert.throws(() => read("task_url=a&task%5Furl=a"), { code: "request_invalid", message: /2 times/ });
  });
});

function show(url: string): string {
  return publicTarget(parseTarget(url));
}

function showOwn(search: string): string {
  return publicTarget(parseTarget(`/p?${search}`), true);
}

describe("publicTarget", () => {
  it("decodes the values of key within one bound, and removes what is beyond it", () => {
    const slow = `key=${"eyIAAAAAAAAAAAAAAAAA.".repeat(30)}%2525`;
    const long = Array.from({ length: 20 }, () => slow).join("&");
    assert.equal(showOwn(`key=a&${slow}&key=b&x=1`), `/p?key=a&${slow}&key=b&x=1`);
    const shown = showOwn(`key=a&${long}&key=b&x=1`);
    assert.ok(shown.startsWith("/p?key=a&") && shown.endsWith("&x=1") && !shown.includes("key=b"), shown.slice(-40));
    assert.ok(holdsKey(parseTarget(`/p?${long}`).query, true));
  });

  it("does not change the other parameters: their order, escapes and empty parts stay", () => {
    assert.equal(show("/p?b=%20&a&&c=1=2+3"), "/p?b=%20&a&&c=1=2+3");
    assert.equal(show("/p"), "/p");
  });

  it("removes the question mark if all parameters are reserved", () => {
    assert.equal(show("/p?key=t&task_url=u"), "/p");
  });

  it("removes every reserved parameter, however its name is written", () => {
    const reserved = fc
      .oneof(spelling("key"), spelling("task_url"), spelling("task_x"))
      .map((name) => `${name}=SECRET`);
    const other = fc.constantFrom("a=1", "Key=2", "keys=3", "xtask_=4", "", "=5", "a=key");
    fc.assert(
      fc.property(fc.array(fc.oneof(reserved, other)), (parts) => {
        const shown = show(`/p?${parts.join("&")}`);
        assert.ok(!shown.includes("SECRET"), shown);
        const visible = parts.filter((part) => !part.includes("SECRET"));
        assert.equal(shown, visible.length > 0 && parts.join("&") !== "" ? `/p?${visible.join("&")}` : "/p");
      }),
    );
  });
});

/** Generates spellings of a name in which any letters are escaped. */
function spelling(name: string): fc.Arbitrary<string> {
  const styles = fc.constantFrom("plain", "lower", "upper");
  return fc
    .tuple(...name.split("").map((letter) => styles.map((style) => spell(letter, style))))
    .map((all) => all.join(""));
}

function spell(letter: string, style: string): string {
  const escaped = `%${letter.codePointAt(0)!.toString(16)}`;
  return style === "plain" ? letter : style === "lower" ? escaped : escaped.toUpperCase();
}
