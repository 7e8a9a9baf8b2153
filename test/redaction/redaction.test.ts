import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import * as fc from "fast-check";

import { Problem } from "../../src/errors.ts";
import { Redaction } from "../../src/redaction/redaction.ts";

const PEM =
  "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\nggSjAgEAAoIBAQC7VJTUt9Us8cKjMzEf\n-----END PRIVATE KEY-----\n";
const LIVE = "sk_live_51Habcdefghijklmnopqrstuvwxyz0123456789ABCDEFG";
const SECRETS = [
  PEM,
  `it's "the" \`secret\``,
  "two words & more=1",
  LIVE,
  "p@$$w0rd!",
  "Пароль №1 🔑",
  "C:\\new\\folder",
  "pass<word>&more='x'",
  "reference&lt;within&quot;secret",
];

/** The spellings in which programs write a text, by name. */
const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  unchanged: (secret) => secret,
  JSON: (secret) => JSON.stringify({ key: secret }),
  "JSON in JSON": (secret) => JSON.stringify(JSON.stringify({ key: secret })),
  "JSON in JSON in JSON": (secret) => JSON.stringify(JSON.stringify(JSON.stringify([secret]))),
  "JSON in ASCII": (secret) =>
    JSON.stringify(secret).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  "an inspected object": (secret) => inspect({ key: secret }),
  "an inspected list": (secret) => inspect([secret, { deep: { deeper: [secret] } }], { depth: null }),
  "a component of a URL": encodeURIComponent,
  "a URL": (secret) => new URL(`http://x/?q=${secret.replaceAll("#", "")}`).href,
  "a form": (secret) => new URLSearchParams({ q: secret }).toString(),
  "a component that is encoded twice": (secret) => encodeURIComponent(encodeURIComponent(secret)),
  "a form in JSON": (secret) => JSON.stringify(new URLSearchParams({ q: secret }).toString()),
  HTML: asHtml,
  "HTML with other character references": (secret) =>
    secret.replace(
      /[^A-Za-z0-9 ]/gu,
      (each) => `&#${each.codePointAt(0)! % 2 === 0 ? each.codePointAt(0)! : `x${each.codePointAt(0)!.toString(16)}`};`,
    ),
  "HTML in HTML": (secret) => asHtml(asHtml(secret)),
  "HTML in JSON": (secret) => JSON.stringify({ page: asHtml(secret) }),
  "lower case": (secret) => secret.toLowerCase(),
};

/** Escapes a text as the libraries of pages do. */
function asHtml(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "amp",
    "<": "lt",
    ">": "gt",
    '"': "quot",
    "'": "#39",
    "`": "#x60",
  };
  return text.replace(/[&<>"'`]/g, (each) => `&${names[each]};`);
}

for (const [name, spell] of Object.entries(SPELLINGS)) {
  test(`a secret is redacted in this spelling: ${name}`, () => {
    const isCase = name === "lower case";
    for (const secret of SECRETS.filter((each) => !isCase || /^[ -~\n]*$/.test(each))) {
      const text = new Redaction(SECRETS).text(`before ${spell(secret)} after`);
      assert.match(text, /\[secret\]/, text);
      const redacted = text.replaceAll("[secret]", "").toLowerCase();
      for (const piece of piecesOf(secret)) assert.ok(!redacted.includes(piece), `${piece} in ${text}`);
      assert.match(text, /^before .* after$/s);
    }
  });
}

/** The sequences of letters and digits of a secret. Spellings change only their case. */
function piecesOf(secret: string): string[] {
  return secret.toLowerCase().match(/[a-z0-9]{5,}/g) ?? [];
}

test("non-ASCII letters are redacted in upper and lower case, in URLs and in host names", () => {
  const secrets = [
    "P\u00c4SSW\u00d6RT-\u00dcBER-4711",
    "\u043a\u043b\u044e\u0447-\u0421\u0415\u041a\u0420\u0415\u0422-7",
    "stra\u00dfe\u00a0geheim 99 xyz",
    "schl\u00fcssel-geheim",
  ];
  const redaction = new Redaction(secrets);
  for (const secret of secrets) {
    const spellings = [secret.toLowerCase(), encodeURIComponent(secret.toLowerCase()), encodeURIComponent(secret)];
    for (const spelling of [...spellings, secret.replaceAll(/\s+/g, " "), JSON.stringify({ secret })]) {
      assert.match(redaction.text(`a ${spelling} b`), /^a .*\[secret\].* b$/, spelling);
      assert.doesNotMatch(redaction.text(`a ${spelling} b`), /4711|-7|xyz|geheim/, spelling);
    }
  }
  const host = new URL("http://schl\u00fcssel-geheim.invalid/").hostname;
  assert.equal(redaction.text(`getaddrinfo ENOTFOUND ${host}`), "getaddrinfo ENOTFOUND [secret].invalid");
});

test("a text without a secret is unchanged", () => {
  const redaction = new Redaction(SECRETS);
  for (const text of ["", "nothing of it", "100 % of %zz, \\u00 and \\", "a\nb…c... \ud800", "the private part"]) {
    assert.equal(redaction.text(text), text);
  }
  assert.equal(new Redaction([]).text("anything"), "anything");
});

test("the text around a secret is unchanged, and adjacent secrets are masked separately", () => {
  const redaction = new Redaction(["tok_12345678"]);
  assert.equal(redaction.text("a tok_12345678tok_12345678 b"), "a [secret][secret] b");
  assert.equal(redaction.text('{"k":"tok_12345678","l":1}'), '{"k":"[secret]","l":1}');
});

test("secrets that contain or overlap each other are masked completely", () => {
  assert.equal(new Redaction(["abcd", "abcdefgh"]).text("abcdefgh abcd"), "[secret] [secret]");
  assert.equal(new Redaction(["abcdef", "efghij"]).text("xabcdefghijx"), "x[secret]x");
});

test("a truncated secret is masked completely, wherever it was truncated", () => {
  const secret = "hunter2-very-secret-key";
  const redaction = new Redaction([secret, "other"]);
  for (let length = 1; length < secret.length; length++) {
    const prefix = secret.slice(0, length);
    assert.equal(redaction.text(`with ${prefix}…`), "with [secret]…");
    assert.equal(
      redaction.text(`E: with ${prefix}…\n    at f (task.js:1:1)`),
      "E: with [secret]…\n    at f (task.js:1:1)",
    );
    if (length >= 4) assert.equal(redaction.text(`with ${prefix}`), "with [secret]");
    if (length >= 4) assert.equal(redaction.text(`Received '${prefix}'...`), "Received '[secret]'...");
  }
  assert.equal(redaction.text("the hun"), "the hun");
  assert.equal(redaction.text(`${secret} and…`), "[secret] and…");
});

test("the beginning of a secret is masked in a part of a text that is cut, such as the name of an error", () => {
  const secret = `-----BEGIN KEY-----${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(20)}`;
  const redaction = new Redaction([secret]);
  const cut = secret.slice(0, 255);
  for (const [before, after] of [
    ["", "…: m\n    at f (task.js:1:1)"],
    ["Cannot convert ", "… to a BigInt"],
    ["The cause: getaddrinfo ENOTFOUND ", "…. Check the name"],
    ['there is no module "', "… (line 1, column 41)"],
  ]) {
    assert.equal(redaction.text(`${before}${cut}${after}`), `${before}[secret]${after}`);
  }
  assert.equal(redaction.text("--… and more"), "--… and more");
});

test("a secret that V8 quotes in a JSON syntax error is redacted, at its start and in its middle", () => {
  const quoting = 'abcdefghijkl"mnopqrstuvwxyz0123456789';
  for (const text of [`{"a":${LIVE}`, LIVE, `["${quoting}"]`, `{"key":"${quoting}","b":1}`, `[1,2,"${quoting}`]) {
    const message = thrownBy(() => JSON.parse(text));
    const redacted = new Redaction([LIVE, quoting]).text(message);
    for (const piece of ["sk_l", "live", "cdef", "ijkl", "mnop", "opqr"]) {
      assert.ok(!redacted.includes(piece), `${piece} in ${redacted}, of ${message}`);
    }
    assert.match(redacted, /JSON/);
  }
  // Other quotations stay, because they help the reader.
  const page = thrownBy(() => JSON.parse("<!DOCTYPE html><html>"));
  assert.equal(new Redaction([LIVE]).text(page), page);
});

function thrownBy(step: () => unknown): string {
  try {
    step();
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail("nothing was thrown");
}

test("a secret that is too short stays, and a secret with a lone surrogate is redacted", () => {
  assert.equal(new Redaction(["a", "", "1", "\n\"'\\"]).text("banana 1"), "banana 1");
  assert.equal(new Redaction(["\ud800abc"]).text("x\ud800abc"), "x[secret]");
});

test("redaction masks the same characters as a search for each secret", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 4, maxLength: 9 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "-"), maxLength: 60 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), text, (secrets, body) => {
      // This suffix avoids another rule: the end of a text may be the start of a secret.
      const input = `${body}----`;
      const covered = new Set<number>();
      for (const secret of secrets) {
        for (let at = input.indexOf(secret); at >= 0; at = input.indexOf(secret, at + 1)) {
          for (let offset = 0; offset < secret.length; offset++) covered.add(at + offset);
        }
      }
      const redacted = new Redaction(secrets).text(input);
      const expected = input
        .split("")
        .filter((_, at) => !covered.has(at))
        .join("");
      assert.equal(redacted.replaceAll("[secret]", ""), expected);
    }),
  );
});

test("a problem is redacted in its detail, its hint and everywhere in the task's error, and is otherwise unchanged", () => {
  const secret = 'sk_live "1"\n&';
  const cause = new Error(`signal SIGABRT: boom ${secret}`);
  const problem = new Problem("task_threw", `it printed ${secret}`, {
    hint: `not ${secret}`,
    status: 418,
    retryAfterMs: 5,
    violations: [{ member: secret }],
    error: {
      name: "Error",
      message: secret,
      stack: `Error: ${secret}\n  at 1`,
      cause: { name: "E", message: secret },
      errors: [{ name: "E", message: secret }],
      [secret]: { deep: [secret, 1, null] },
    },
    cause,
  });
  const redacted = new Redaction([secret]).error(problem) as Problem;
  assert.deepEqual([redacted.code, redacted.status, redacted.options.retryAfterMs], ["task_threw", 418, 5]);
  assert.equal(redacted.message, "it printed [secret]");
  assert.equal((redacted.cause as Error).message, "signal SIGABRT: boom [secret]");
  assert.deepEqual(redacted.options.error, {
    name: "Error",
    message: "[secret]",
    stack: "Error: [secret]\n  at 1",
    cause: { name: "E", message: "[secret]" },
    errors: [{ name: "E", message: "[secret]" }],
    "[secret]": { deep: ["[secret]", 1, null] },
  });
  assert.doesNotMatch(JSON.stringify(redacted.options), /sk_live/);
  const defect = new TypeError("x");
  assert.equal(new Redaction([secret]).error(defect), defect);
});

test("the position of an error is redacted, because code in a guest can write any text as a position", () => {
  const at = { file: LIVE, line: 1, column: 2, frame: `> 1 | fetch("${LIVE}")` };
  const problem = new Redaction([LIVE]).problem(new Problem("task_threw", "failed", { at }));
  const redacted = { file: "[secret]", line: 1, column: 2, frame: '> 1 | fetch("[secret]")' };
  assert.deepEqual(problem.options.at, redacted);
});
