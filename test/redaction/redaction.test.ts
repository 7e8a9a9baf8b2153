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
];

/** How programs write a text down, by the name of what does. */
const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  "as it is": (secret) => secret,
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
  "lower case": (secret) => secret.toLowerCase(),
};

for (const [name, spell] of Object.entries(SPELLINGS)) {
  test(`a secret is redacted in this spelling: ${name}`, () => {
    const isCase = name === "lower case";
    for (const secret of SECRETS.filter((each) => !isCase || /^[ -~\n]*$/.test(each))) {
      const text = new Redaction(SECRETS).text(`before ${spell(secret)} after`);
      assert.match(text, /\[secret\]/, text);
      const told = text.replaceAll("[secret]", "").toLowerCase();
      for (const piece of piecesOf(secret)) assert.ok(!told.includes(piece), `${piece} in ${text}`);
      assert.match(text, /^before .* after$/s);
    }
  });
}

/** Runs of letters and digits of a secret, which no spelling changes but for their case. */
function piecesOf(secret: string): string[] {
  return secret.toLowerCase().match(/[a-z0-9]{5,}/g) ?? [];
}

test("letters beyond ASCII are redacted in upper and lower case, in URLs and in the names of hosts", () => {
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

test("a text without a secret stays as it is", () => {
  const redaction = new Redaction(SECRETS);
  for (const text of ["", "nothing of it", "100 % of %zz, \\u00 and \\", "a\nb…c... \ud800", "the private part"]) {
    assert.equal(redaction.text(text), text);
  }
  assert.equal(new Redaction([]).text("anything"), "anything");
});

test("what stands beside a secret stays, and secrets side by side are masked one by one", () => {
  const redaction = new Redaction(["tok_12345678"]);
  assert.equal(redaction.text("a tok_12345678tok_12345678 b"), "a [secret][secret] b");
  assert.equal(redaction.text('{"k":"tok_12345678","l":1}'), '{"k":"[secret]","l":1}');
});

test("of secrets that are parts of each other nothing is left", () => {
  assert.equal(new Redaction(["abcd", "abcdefgh"]).text("abcdefgh abcd"), "[secret] [secret]");
  assert.equal(new Redaction(["abcdef", "efghij"]).text("xabcdefghijx"), "x[secret]x");
});

test("of a secret that was cut nothing is left, wherever it was cut", () => {
  const secret = "hunter2-very-secret-key";
  const redaction = new Redaction([secret, "other"]);
  for (let kept = 1; kept < secret.length; kept++) {
    const begun = secret.slice(0, kept);
    assert.equal(redaction.text(`with ${begun}…`), "with [secret]…");
    assert.equal(
      redaction.text(`E: with ${begun}…\n    at f (task.js:1:1)`),
      "E: with [secret]…\n    at f (task.js:1:1)",
    );
    if (kept >= 4) assert.equal(redaction.text(`with ${begun}`), "with [secret]");
    if (kept >= 4) assert.equal(redaction.text(`Received '${begun}'...`), "Received '[secret]'...");
  }
  assert.equal(redaction.text("the hun"), "the hun");
  assert.equal(redaction.text(`${secret} and…`), "[secret] and…");
});

test("what V8 quotes of a secret that is no JSON is redacted, from its begin and from its midst", () => {
  const quoting = 'abcdefghijkl"mnopqrstuvwxyz0123456789';
  for (const text of [`{"a":${LIVE}`, LIVE, `["${quoting}"]`, `{"key":"${quoting}","b":1}`, `[1,2,"${quoting}`]) {
    const message = thrownBy(() => JSON.parse(text));
    const told = new Redaction([LIVE, quoting]).text(message);
    for (const piece of ["sk_l", "live", "cdef", "ijkl", "mnop", "opqr"]) {
      assert.ok(!told.includes(piece), `${piece} in ${told}, of ${message}`);
    }
    assert.match(told, /JSON/);
  }
  // What is not of a secret is what somebody looks for.
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

test("what is too short to be told from other words stays, and what no URL can hold does no harm", () => {
  assert.equal(new Redaction(["a", "", "1", "\n\"'\\"]).text("banana 1"), "banana 1");
  assert.equal(new Redaction(["\ud800abc"]).text("x\ud800abc"), "x[secret]");
});

test("any secrets in any text are found as a search for each of them finds them", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 4, maxLength: 9 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "-"), maxLength: 60 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), text, (secrets, body) => {
      // The end of a text may be the begin of a secret, which is another rule.
      const given = `${body}----`;
      const covered = new Set<number>();
      for (const secret of secrets) {
        for (let at = given.indexOf(secret); at >= 0; at = given.indexOf(secret, at + 1)) {
          for (let offset = 0; offset < secret.length; offset++) covered.add(at + offset);
        }
      }
      const told = new Redaction(secrets).text(given);
      const kept = given
        .split("")
        .filter((_, at) => !covered.has(at))
        .join("");
      assert.equal(told.replaceAll("[secret]", ""), kept);
    }),
  );
});

test("a problem keeps all but the secrets: in its detail, its hint, and everywhere in the task's error", () => {
  const secret = 'sk_live "1"\n&';
  const cause = new Error(`signal SIGABRT: boom ${secret}`);
  const problem = new Problem("task_threw", `it said ${secret}`, {
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
  const told = new Redaction([secret]).error(problem) as Problem;
  assert.deepEqual([told.code, told.status, told.options.retryAfterMs], ["task_threw", 418, 5]);
  assert.equal(told.message, "it said [secret]");
  assert.equal((told.cause as Error).message, "signal SIGABRT: boom [secret]");
  assert.deepEqual(told.options.error, {
    name: "Error",
    message: "[secret]",
    stack: "Error: [secret]\n  at 1",
    cause: { name: "E", message: "[secret]" },
    errors: [{ name: "E", message: "[secret]" }],
    "[secret]": { deep: ["[secret]", 1, null] },
  });
  assert.doesNotMatch(JSON.stringify(told.options), /sk_live/);
  const defect = new TypeError("x");
  assert.equal(new Redaction([secret]).error(defect), defect);
});
