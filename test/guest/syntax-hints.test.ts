import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";
import { haveHints } from "./hint-rows.ts";

let guest: GuestProcess;
before(async () => {
  guest = await GuestProcess.start();
});
after(() => guest.close());

async function mustWork(advised: string): Promise<void> {
  assert.equal((await guest.run(advised)).fault, undefined);
}

/** Checks the hint, and the place, of a text that does not parse. */
async function mustBeAt(code: string, line: number, column: number, hint: string | undefined): Promise<void> {
  const fault = await guest.fault(code);
  assert.deepEqual([fault.at?.line, fault.at?.column, fault.hint], [line, column, hint], code);
}

describe("a name with a dash", () => {
  const CONTENT_TYPE = 'Put a name with - in quotes: "Content-Type".';
  const USER_NAME = "A name has no - in it: write userName.";
  haveHints(
    () => guest,
    [
      ['return { headers: { Content-Type: "a" } }', CONTENT_TYPE, 'return { headers: { "Content-Type": "a" } }'],
      ['const a: number = 1;\nconst h = { Content-Type: "a" };\nreturn h', CONTENT_TYPE],
      ['export default (c: any): any => ({ Content-Type: "a" })', CONTENT_TYPE],
      ["interface H { Content-Type: string }\nreturn 1", CONTENT_TYPE],
      ['const user-name = "a"; return 1', USER_NAME, 'const userName = "a"; return 1'],
      ['let user-name = "a"; return 1', USER_NAME],
      ['const user-name: string = "a"; return 1', USER_NAME],
      ["function user-name() { return 1 }", USER_NAME],
      ["function f(user-name) { return 1 }", USER_NAME],
      ["const f = (user-name) => 1;", USER_NAME],
      ["class A { user-name() { return 1 } }", USER_NAME],
      [
        "const { user-agent } = context.headers; return 1",
        'Put a name with - in quotes, and give it another one: "user-agent": userAgent.',
        'const { "user-agent": userAgent } = context.headers; return 1',
      ],
    ],
    mustWork,
  );

  it("is at its first dash in TypeScript", async () => {
    await mustBeAt('const a: number = 1;\nconst h = { Content-Type: "a" };\nreturn h', 2, 20, CONTENT_TYPE);
  });

  it("is not the hint for a subtraction, or for a value that is missing", async () => {
    assert.equal(await guest.hint("const a = 3, b = 1; return { c: a-b }"), undefined);
    assert.equal(await guest.hint("const a = 3, b = 1; return { c: a-b, d: a -b "), "The { in line 1 has no }.");
    assert.equal(await guest.hint("const a; return 1"), "Give the const a value, or declare the variable with let.");
  });
});

describe("a word instead of an operator", () => {
  const AND = "JavaScript has no and: write &&.";
  haveHints(
    () => guest,
    [
      ["if (1 > 0 and 2 > 1) return 1", AND, "if (1 > 0 && 2 > 1) return 1"],
      ["const a = 1;\nreturn a and (a + 1)", AND],
      ["const a: number = 1;\nif (a === 1 or a === 2) return 1", "JavaScript has no or: write ||."],
      ["const a = 1;\nif (a === 1 OR a === 2) return 1", "JavaScript has no OR: write ||."],
      ["if (not true) return 1", "JavaScript has no not: write !.", "if (!true) return 1"],
      ["if (not (true)) return 1", "JavaScript has no not: write !."],
    ],
    mustWork,
  );

  it("is not the hint for a member or a variable of this name", async () => {
    assert.equal(await guest.hint("return { and: 1 or: 2 }"), "A comma is missing before or.");
    assert.equal(await guest.hint("const and = 1; return and and and"), undefined);
    assert.equal(await guest.hint("const q = { or: (a) => a }; return q.or(1)"), undefined);
  });
});

describe("code whose message names the mistake", () => {
  const CHAIN = "?. only reads a member. To change it, write . after a test of the value in front.";
  const ZERO = "A number cannot begin with 0: write 8 instead of 08, and 0o17 for the octal number 17.";
  const NOT_ASSIGNABLE = "Only a variable or a member can stand in front of =. To compare, write ===.";
  const PATTERN =
    "In a pattern, ( ) [ ] { } * + and ? have a meaning: write \\ in front of a character that stands for itself, such as \\(.";
  const COLON = "In an object, a colon stands between a name and its value: write a: ...";
  haveHints(
    () => guest,
    [
      ["export default (c) => {\n  c.query?.a = 1;\n  return c;\n};", CHAIN],
      ["const o: any = {};\no?.x = 1;\nreturn o", CHAIN],
      ["const a = 1;\nif (a + 1 = 2) return 1", NOT_ASSIGNABLE, "const a = 1;\nif (a + 1 === 2) return 1"],
      [
        "const a: number = 1;\nif (a + 1 = 2) return 1",
        "= gives a value to a variable or a member: to compare, write ===.",
      ],
      ['return /a(b/.test("a")', PATTERN, 'return /a\\(b/.test("a")'],
      [
        'return /^/api/users$/.test("a")',
        "A pattern ends at its second /: write \\/ for a / in it. Only the flags d, g, i, m, s, u, v and y can follow it.",
        'return /^\\/api\\/users$/.test("a")',
      ],
      ["export default () => new Date(2026, 08, 01)", ZERO, "export default () => new Date(2026, 8, 1)"],
      ["export default (): Date => new Date(2026, 08, 01)", ZERO],
      ["const o = { a = 1 }; return o", COLON, "const o = { a: 1 }; return o"],
      [
        "for (const a, b of []) {}",
        "A for ... of or for ... in declares one variable: for the parts of an item, write for (const [a, b] of pairs).",
        "for (const [a, b] of []) {}",
      ],
    ],
    mustWork,
  );

  it("has no hint for parameters in braces, and none about what can follow what", async () => {
    assert.equal(await guest.hint("f({ a = 1 }) { return a }"), undefined);
    assert.equal(await guest.hint("return /(?<a>.)(?<a>.)/.test('a')"), undefined);
    assert.equal(await guest.hint("const f = ({ a = 1 }) => a; return f({})"), undefined);
  });
});

describe("texts side by side", () => {
  haveHints(
    () => guest,
    [
      ['return "a" "b"', "An operator, such as +, is missing before this text.", 'return "a" + "b"'],
      ['const a = 1; return a "b"', "An operator, such as +, is missing before this text."],
      ['const x = 1; return "total: " x " items"', "An operator, such as +, is missing before x."],
      ['return f("a" "b")', 'A comma is missing before ".'],
      ['return "abc', 'The text that begins here has no " at its end, in the same line.'],
      ["return 'a' + 'b", "The text that begins here has no ' at its end, in the same line."],
      ['const a = "x" b = 2; return a', "A semicolon or a line break is missing before b."],
    ],
    mustWork,
  );
});

describe("a member of a type without its colon", () => {
  haveHints(
    () => guest,
    [
      [
        "interface A { a: string, b number }\nreturn 1",
        "A colon is missing after b.",
        "interface A { a: string, b: number }\nreturn 1",
      ],
      ["type A = {\n  a: string\n  b number\n}\nreturn 1", "A colon is missing after b."],
      ["interface A { a: string b: number }\nreturn 1", "Put ; or a line break before b."],
    ],
    mustWork,
  );
});

describe("a for with commas between its parts", () => {
  const PARTS = "The parts of a for have semicolons between them: for (let i = 0; i < n; i += 1) { ... }.";
  haveHints(
    () => guest,
    [
      ["for (let i = 0, i < 3, i++) { }", PARTS, "for (let i = 0; i < 3; i++) { }"],
      ["const a: number = 1;\nfor (let i = 0, i < a, i++) { }", PARTS],
      ["for (let i = 0, n = 3, i < n, i++) { }", PARTS],
      ["for (let i = 0, i = 1; i < 3; i++) { }", "Assign to i without const or let, or choose another name."],
    ],
    mustWork,
  );
});

describe("an export default of a statement", () => {
  haveHints(
    () => guest,
    [
      [
        "export default const handler = () => 1",
        "An export default takes a value and no declaration: write const handler = ..., and then export default handler.",
        "const handler = () => 1;\nexport default handler",
      ],
      ["export default return 5", "An export default takes the value itself: leave return out.", "export default 5"],
      [
        "export function () {}",
        "An export without a name needs default: write export default function (context) { ... }.",
        "export default function () {}",
      ],
      [
        "type A = number;\nexport function () { return 1 as A }",
        "An export without a name needs default: write export default function (context) { ... }.",
      ],
      ["export class { a = 1 }", "class needs a name before this brace: class Name { ... }."],
    ],
    mustWork,
  );
});

describe("a comment without an end", () => {
  const HINT = "The comment that begins here has no */ at its end.";
  it("has its place, also behind other code of its line", async () => {
    await mustBeAt("export default (c) => {\n  /* todo\n  return 1;\n};", 2, 3, HINT);
    await mustBeAt("export default (c) => {\n  return 1; /* todo\n};", 2, 13, HINT);
    await mustBeAt("const a: number = 1;\nfunction f() {\n  return a; /* todo\n}", 3, 13, HINT);
    await mustBeAt('const a = "/*"; /* b\nreturn 1', 1, 17, HINT);
    await mustBeAt("/* a */ const a = 1; /* b /* c\nreturn 1", 1, 22, HINT);
  });

  it("is not the hint for a text with /* that fails for another reason", async () => {
    await mustBeAt('const a = "/*";\nlet x = ;', 2, 9, "A value is missing after =.");
    await mustBeAt("let x = ;\n/* todo", 1, 9, "A value is missing after =.");
    await mustBeAt(
      'const a = "src/*; return a',
      1,
      11,
      'The text that begins here has no " at its end, in the same line.',
    );
  });
});

describe("the failure of an arrow function with the type of its result", () => {
  it("is the one in its body", async () => {
    await mustBeAt("export default (): number => { let x = ; return x }", 1, 40, "A value is missing after =.");
  });
});

describe("a text with as many line breaks as it can have", () => {
  it("fails without a long search", async () => {
    await mustBeAt(`${"\n".repeat(250_000)}let x = ;`, 250_001, 9, "A value is missing after =.");
  });
});
