import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";

import * as fc from "fast-check";
import { CompactSign, exportJWK, generateKeyPair } from "jose";

import type { Tokens } from "../../src/tokens/token-service.ts";
import { payload, problemOf, signed, testTokens } from "./support.ts";

/** The attacks of RFC 8725 and related CVEs. Each is a text made from a valid token and public data. */
const ATTACKS: [string, (valid: string, tokens: Tokens) => string | Promise<string>, RegExp][] = [
  ["nothing", () => "", /compact JWT/],
  ["not a token", () => "let me in", /white space/],
  ["two parts", (valid) => valid.slice(0, valid.lastIndexOf(".")), /compact JWT/],
  ["four parts", (valid) => `${valid}.e30`, /compact JWT/],
  ["a dot at the end", (valid) => `${valid}.`, /compact JWT/],
  ["an encrypted token's five parts", () => "e30.e30.e30.e30.e30", /compact JWT/],
  ["only dots", () => ".".repeat(8_192), /compact JWT/],
  ["a megabyte", () => "A".repeat(1_048_576), /1048576 characters long; at most 8192 are allowed/],
  ["spaces around", (valid) => ` ${valid} `, /white space/],
  ["a line break inside", (valid) => `${valid.slice(0, 40)}\n${valid.slice(40)}`, /white space/],
  ["padding", (valid) => `${valid}==`, /not complete/],
  ["padding in the payload", (valid) => part(valid, 1, (text) => `${text}=`), /compact JWT/],
  ["another alphabet", (valid) => part(valid, 2, (text) => `+/${text.slice(2)}`), /characters of a path/],
  ["a signature with bits left over", (valid) => valid.slice(0, -1) + nextLetter(valid.at(-1)!), /not complete/],
  ["the JSON serialization", (valid) => jsonSerialization(valid), /placeholder or JSON/],
  ["a header that is not JSON", (valid) => part(valid, 0, () => base64url("{")), /compact JWT/],
  ["a header of null", (valid) => header(valid, null), /the header of the token must have/],
  [
    "a header in UTF-16",
    (valid) => part(valid, 0, () => Buffer.from("{}", "utf16le").toString("base64url")),
    /compact JWT/,
  ],
  ...["none", "None", "NONE", "nOnE", ""].map((alg): (typeof ATTACKS)[number] => [
    `alg ${JSON.stringify(alg)} with the old signature`,
    (valid) => header(valid, { ...headOf(valid), alg }),
    /the algorithm of the token is not EdDSA/,
  ]),
  [
    "alg none without a signature",
    (valid) => part(header(valid, { ...headOf(valid), alg: "none" }), 2, () => ""),
    /compact JWT/,
  ],
  ["HS256 with the public key as secret", hmacWithPublicKey, /the algorithm of the token is not EdDSA/],
  ["Ed25519 by its newer name", (valid) => header(valid, { ...headOf(valid), alg: "Ed25519" }), /the algorithm/],
  ["several algorithms", (valid) => header(valid, { ...headOf(valid), alg: ["none", "EdDSA"] }), /the algorithm/],
  [
    "the type of any JWT",
    (valid) => header(valid, { ...headOf(valid), typ: "JWT" }),
    /the type of the token is not caisson\+jwt/,
  ],
  ["the type in capitals", (valid) => header(valid, { ...headOf(valid), typ: "CAISSON+JWT" }), /the type/],
  ["no type", (valid) => header(valid, { alg: "EdDSA", kid: headOf(valid)["kid"] }), /the type/],
  ["no key name", (valid) => header(valid, { alg: "EdDSA", typ: "caisson+jwt" }), /the header of the token must have/],
  [
    "a key name that is a path",
    (valid) => header(valid, { ...headOf(valid), kid: "../../dev/null" }),
    /a key that this service/,
  ],
  [
    "a key name of the prototype",
    (valid) => header(valid, { ...headOf(valid), kid: "__proto__" }),
    /a key that this service/,
  ],
  ["the forger's key, by its own name", withOwnKey((kid) => ({ kid })), /a key that this service does not hold/],
  ["the forger's key, embedded", withOwnKey((_, jwk) => ({ jwk })), /the header of the token must have/],
  ...["jku", "x5u", "x5c", "crit", "zip", "b64", "cty", "enc", "x"].map((name): (typeof ATTACKS)[number] => [
    `a header with ${name}`,
    (valid) => header(valid, { ...headOf(valid), [name]: name === "crit" ? ["b64"] : "https://attacker.example/" }),
    /the header of the token must have alg, typ and kid, and nothing else/,
  ]),
  ["a member of the header twice", (valid) => part(valid, 0, (text) => twice(text, `"alg":"none"`)), /compact JWT/],
  [
    "a header with white space",
    (valid) => part(valid, 0, (text) => base64url(` ${fromBase64url(text)}`)),
    /compact JWT/,
  ],
  [
    "a changed payload",
    (valid) => part(valid, 1, () => base64url(JSON.stringify(payload()))),
    /the signature of the token/,
  ],
  ["a signature of zeros", (valid) => part(valid, 2, () => "A".repeat(86)), /the signature of the token/],
  ["a signature of another length", (valid) => part(valid, 2, (text) => text.slice(0, 43)), /its end is missing/],
  ["a signature plus the order of the group", (valid) => part(valid, 2, malleated), /the signature of the token/],
];

describe("a forged token is rejected with its cause, and no part of it appears in the answer", () => {
  for (const [name, forge, message] of ATTACKS) {
    test(name, async (t) => {
      const tokens = await testTokens(t);
      const { token: valid } = await tokens.issue({ containers: ["demo"] }, "me");
      const forged = await forge(valid, tokens);
      assert.notEqual(forged, valid);
      const problem = await problemOf(() => tokens.verifier.verify(forged));
      assert.equal(problem.code, "token_invalid");
      assert.match(problem.message, message);
      assert.ok(problem.message.length < 150, problem.message);
      const shown = `${problem.message} ${problem.options.hint}`;
      for (const text of forged.split(".")) assert.ok(text.length < 4 || !shown.includes(text));
    });
  }
});

test("a payload with a duplicate member is rejected, even with a valid signature", async (t) => {
  const { keys, verifier } = await testTokens(t);
  const text = JSON.stringify(payload());
  assert.ok(await verifier.verify(await signed(keys, text)));
  for (const changed of [
    text.replace(`"can":`, `"can":["logs"],"can":`),
    ` ${text}`,
    text.replace(`"iat":`, `"iat":  `),
    text.replace("demo", "\\u0064emo"),
    "[".repeat(2_000) + "]".repeat(2_000),
    "null",
    "",
  ]) {
    const token = await signed(keys, changed);
    assert.equal((await problemOf(() => verifier.verify(token))).code, "token_invalid", changed);
  }
});

test("every change of a single character is rejected", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const { token } = await issue({ containers: ["demo"] }, "me");
  await fc.assert(
    fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(..."AZaz09-_.=+/ ".split("")), async (at, character) => {
      fc.pre(token[at] !== character);
      const changed = token.slice(0, at) + character + token.slice(at + 1);
      assert.equal((await problemOf(() => verifier.verify(changed))).code, "token_invalid");
    }),
    { numRuns: 300 },
  );
});

test("any text is rejected with token_invalid and no other error", async (t) => {
  const { verifier } = await testTokens(t);
  const segment = fc.oneof(fc.string(), fc.base64String(), fc.json().map(base64url));
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(segment, { maxLength: 5 }).map((parts) => parts.join(".")),
  );
  await fc.assert(
    fc.asyncProperty(text, async (token) => {
      assert.equal((await problemOf(() => verifier.verify(token))).code, "token_invalid");
    }),
  );
});

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function fromBase64url(text: string): string {
  return Buffer.from(text, "base64url").toString();
}

function part(token: string, index: number, change: (text: string) => string): string {
  return token
    .split(".")
    .map((text, at) => (at === index ? change(text) : text))
    .join(".");
}

function headOf(token: string): Record<string, unknown> {
  return JSON.parse(fromBase64url(token.split(".")[0]!));
}

function header(token: string, value: unknown): string {
  return part(token, 0, () => base64url(JSON.stringify(value)));
}

function twice(encoded: string, member: string): string {
  return base64url(fromBase64url(encoded).replace("{", `{${member},`));
}

/** A spelling of the same 64 bytes for a lenient decoder: only the ignored bits differ. */
function nextLetter(letter: string): string {
  return String.fromCharCode(letter.charCodeAt(0) + 1);
}

function jsonSerialization(token: string): string {
  const [protectedHeader, text, signature] = token.split(".");
  return JSON.stringify({ payload: text, protected: protectedHeader, signature });
}

function hmacWithPublicKey(valid: string, { keys }: Tokens): string {
  const forged = header(valid, { ...headOf(valid), alg: "HS256" });
  const input = forged.slice(0, forged.lastIndexOf("."));
  const secret = Buffer.from(keys.jwks().keys[0]!.x, "base64url");
  // Duplicated, so that it has the expected length of a signature.
  const mac = createHmac("sha256", secret).update(input).digest();
  return `${input}.${Buffer.concat([mac, mac]).toString("base64url")}`;
}

function withOwnKey(more: (kid: string, jwk: object) => object): (valid: string) => Promise<string> {
  return async (valid) => {
    const { privateKey, publicKey } = await generateKeyPair("EdDSA", { crv: "Ed25519" });
    const head = { alg: "EdDSA", typ: "caisson+jwt", kid: String(headOf(valid)["kid"]) };
    return await new CompactSign(Buffer.from(JSON.stringify(payload({ admin: true }))))
      .setProtectedHeader({ ...head, ...more("own", await exportJWK(publicKey)) })
      .sign(privateKey);
  };
}

/** The signature with S + L instead of S: equivalent for a verifier that does not check the range (RFC 8032, section 5.1.7). */
function malleated(signature: string): string {
  const bytes = Buffer.from(signature, "base64url");
  const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
  bytes.subarray(32).reverse();
  const s = BigInt(`0x${bytes.toString("hex", 32)}`) + order;
  bytes.write(s.toString(16).padStart(64, "0"), 32, "hex");
  bytes.subarray(32).reverse();
  return bytes.toString("base64url");
}
