/**
 * Measures the cost of a token that was checked lately. As in each request, the token is a new text to V8, cut out of a
 * header. The same round also measures new tokens and a signature alone. A figure is a ratio to the signature, the median of
 * the rounds.
 *
 *   npm run bench:tokens [-- <rounds>]
 */
import type { createPublicKey } from "node:crypto";
import { generateKeyPairSync, sign, verify } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { openTokens, type Tokens } from "../src/tokens/token-service.ts";
import { Verifier } from "../src/tokens/verify.ts";
import { median } from "./figures.ts";

const [rounds = 15] = process.argv.slice(2).map(Number);
const BUDGET_US = 1;
/** The numbers of tokens that each round selects from. The cache holds ten thousand. */
const HOLDERS = [1, 100, 5_000];
const WARM = 20_000;
const NEW = 200;
const FAMILY = 4;

const folder = await mkdtemp(path.join(tmpdir(), "caisson-bench-"));
const tokens = await openTokens(folder);
try {
  await main(tokens);
} finally {
  await tokens.close();
  await rm(folder, { recursive: true });
}

async function main({ keys, store: registry, issue }: Tokens): Promise<void> {
  const verifier = new Verifier(keys, registry);
  const groups: { readonly name: string; readonly headers: readonly Buffer[]; readonly us: number[] }[] = [];
  for (const count of HOLDERS) {
    const headers = await Promise.all(
      Array.from({ length: count }, async () => header((await issue({ containers: ["demo"] }, "bench")).token)),
    );
    groups.push({ name: `checked lately, of ${count}`, headers, us: [] });
  }
  groups.push({
    name: `checked lately, ${FAMILY} above it`,
    headers: [header(await youngest(issue, verifier))],
    us: [],
  });
  for (const { headers } of groups) for (const each of headers) await verifier.verify(tokenIn(each));

  const signature = ed25519();
  const [alone, unseen]: [number[], number[]] = [[], []];
  for (let round = -1; round < rounds; round++) {
    const figures = groups.map(({ headers }) => warmUs(verifier, headers));
    const [bare, all] = [signatureUs(signature), await unseenUs(new Verifier(keys, registry), groups.at(-2)!.headers)];
    // The first round lets V8 compile the measured code, and is not measured.
    if (round < 0) continue;
    for (const [at, { us }] of groups.entries()) us.push(figures[at]!);
    alone.push(bare);
    unseen.push(all);
  }
  report("an Ed25519 signature alone", alone, alone);
  report("never seen", unseen, alone);
  for (const { name, us } of groups) report(`${name} (budget ${BUDGET_US} µs)`, us, alone);
}

/** Returns a header as it arrives from the network. */
function header(token: string): Buffer {
  return Buffer.from(`Bearer ${token}`, "latin1");
}

/** Returns a header as a request has it: a new text each time, which contains the token. */
function tokenIn(bytes: Buffer): string {
  return /^Bearer +(\S+) *$/i.exec(bytes.toString("latin1"))![1]!;
}

async function youngest(issue: Tokens["issue"], verifier: Verifier): Promise<string> {
  const family = { containers: ["demo"], can: ["run", "issue"] };
  let last = await issue({ ...family, depth: FAMILY }, "bench");
  for (let depth = FAMILY - 1; depth >= 0; depth--) {
    last = await issue(
      { ...(depth > 0 ? family : { containers: ["demo"] }), depth },
      await verifier.verify(last.token),
    );
  }
  return last.token;
}

function warmUs(verifier: Verifier, headers: readonly Buffer[]): number {
  // Created before the clock starts, because reading a header is not measured.
  const texts = Array.from({ length: WARM }, (_, at) => tokenIn(headers[at % headers.length]!));
  const begin = performance.now();
  let sum = 0;
  for (const text of texts) {
    const caller = verifier.verify(text);
    if (caller instanceof Promise) throw new Error("the token was not in the cache");
    sum += caller.claims.iat;
  }
  const us = ((performance.now() - begin) * 1_000) / WARM;
  if (sum === 0) throw new Error("nothing was checked");
  return us;
}

async function unseenUs(verifier: Verifier, headers: readonly Buffer[]): Promise<number> {
  const texts = headers.slice(0, NEW).map(tokenIn);
  const begin = performance.now();
  for (const text of texts) await verifier.verify(text);
  return ((performance.now() - begin) * 1_000) / texts.length;
}

type Signed = [message: Buffer, key: ReturnType<typeof createPublicKey>, signature: Buffer];

function ed25519(): Signed {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const message = Buffer.alloc(300, "x");
  return [message, publicKey, sign(null, message, privateKey)];
}

function signatureUs([message, key, signature]: Signed): number {
  const begin = performance.now();
  for (let time = 0; time < NEW; time++) verify(null, message, key, signature);
  return ((performance.now() - begin) * 1_000) / NEW;
}

function report(what: string, us: readonly number[], alone: readonly number[]): void {
  const ratio = median(us.map((value, round) => value / alone[round]!));
  console.log(`${what}: ${median(us).toFixed(3)} µs, ${ratio.toFixed(4)} of a signature`);
}
