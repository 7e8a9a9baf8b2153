import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import type { Problem } from "../../src/errors.ts";
import { containerName, decode, parseTarget, publicTarget, taskUrl } from "../../src/http/target.ts";

describe("parseTarget", () => {
  it("cuts path and query and decodes neither of them in place", () => {
    const target = parseTarget("/api/run/a%2Fb?x=%31&x=2?3");
    assert.equal(target.path, "/api/run/a%2Fb");
    assert.equal(target.search, "x=%31&x=2?3");
    assert.deepEqual(target.query.getAll("x"), ["1", "2?3"]);
  });

  it("leaves a target alone that is neither, so that it leads nowhere", () => {
    for (const text of ["*", "example.com:443", "ftp://example.com/api/run/demo", ""]) {
      assert.equal(parseTarget(text).path, text);
    }
  });

  it("does not take a URL in the query for the start of an absolute form", () => {
    assert.equal(parseTarget("/api/run/demo?task_url=http://example.com/x").path, "/api/run/demo");
  });
});

describe("decode", () => {
  it("decodes once, and gives null for escapes that are not UTF-8", () => {
    assert.equal(decode("a%2520b"), "a%20b");
    assert.equal(decode("%C3%A4"), "ä");
    for (const broken of ["%", "%4", "%zz", "%ff", "%C3", "%ED%A0%80"]) assert.equal(decode(broken), null);
  });
});

describe("containerName", () => {
  it("tells the name that it refused, cut to a bounded length, and what a name is made of", () => {
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

  it("refuses every segment whose decoded text is not a name, and gives every name back", () => {
    const isName = /^\w[\w.@-]{0,127}$/;
    fc.assert(
      fc.property(fc.string({ maxLength: 140, unit: fc.constantFrom(..."aZ0_.@-%/\\ \n\0ä2Ff".split("")) }), (text) => {
        const named = (): string => containerName(encodeURIComponent(text));
        if (isName.test(text)) assert.equal(named(), text);
        else assert.throws(named, { code: "container_invalid" });
      }),
    );
  });
});

function read(search: string): string | null {
  return taskUrl(parseTarget(`/?${search}`).query);
}

describe("taskUrl", () => {
  it("is the one in the query, decoded, and null where there is none", () => {
    assert.equal(read("task_url=http%3A%2F%2Fa%2F%3Fb"), "http://a/?b");
    assert.equal(read("a=1"), null);
    assert.equal(taskUrl(parseTarget("/").query), null);
  });

  it("refuses other reserved names, also when they are escaped, and names them", () => {
    for (const name of ["task_urls", "task_", "task%5fid", "%74ask_URL"]) {
      assert.throws(() => read(`${name}=1`), {
        code: "request_invalid",
        message: new RegExp(decodeURIComponent(name)),
      });
    }
  });

  it("refuses a second one, also when the name is escaped in one of them", () => {
    assert.throws(() => read("task_url=a&task%5Furl=a"), { code: "request_invalid", message: /2 times/ });
  });
});

function show(url: string): string {
  return publicTarget(parseTarget(url));
}

describe("publicTarget", () => {
  it("keeps what a task may see as it came: order, escapes and empty parts", () => {
    assert.equal(show("/p?b=%20&a&&c=1=2+3"), "/p?b=%20&a&&c=1=2+3");
    assert.equal(show("/p"), "/p");
  });

  it("leaves no question mark behind when everything was reserved", () => {
    assert.equal(show("/p?key=t&task_url=u"), "/p");
  });

  it("lets no reserved parameter through, however its name is written", () => {
    const reserved = fc
      .oneof(spelling("key"), spelling("task_url"), spelling("task_x"))
      .map((name) => `${name}=SECRET`);
    const other = fc.constantFrom("a=1", "Key=2", "keys=3", "xtask_=4", "", "=5", "a=key");
    fc.assert(
      fc.property(fc.array(fc.oneof(reserved, other)), (parts) => {
        const shown = show(`/p?${parts.join("&")}`);
        assert.ok(!shown.includes("SECRET"), shown);
        const kept = parts.filter((part) => !part.includes("SECRET"));
        assert.equal(shown, kept.length > 0 && parts.join("&") !== "" ? `/p?${kept.join("&")}` : "/p");
      }),
    );
  });
});

/** A name, with any of its letters escaped. */
function spelling(name: string): fc.Arbitrary<string> {
  const ways = fc.constantFrom("plain", "lower", "upper");
  return fc
    .tuple(...name.split("").map((letter) => ways.map((way) => written(letter, way))))
    .map((all) => all.join(""));
}

function written(letter: string, way: string): string {
  const escaped = `%${letter.codePointAt(0)!.toString(16)}`;
  return way === "plain" ? letter : way === "lower" ? escaped : escaped.toUpperCase();
}
