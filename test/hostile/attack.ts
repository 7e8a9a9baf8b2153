import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { runInNewContext } from "node:vm";

import { type Expectation, parseExpectation } from "./expectation.ts";

const ATTACKS = path.join(import.meta.dirname, "attacks");
const PRELUDES = path.join(import.meta.dirname, "preludes");

/** One submission of an attack, and every answer that it may get. */
export interface Step {
  readonly place: Place;
  /** What is submitted, but for the names of canaries. */
  readonly text: string;
  readonly contentType: string | null;
  readonly expected: readonly Expectation[];
}

/** Where a step runs: in the container that is attacked, or in one that has nothing to do with it. */
export type Place = "the same container" | "another container";

/** A file of the corpus. */
export interface Attack {
  /** Its folder. */
  readonly kind: string;
  /** Its file, without the extension. */
  readonly name: string;
  /** What it tries, in words. */
  readonly title: string;
  readonly steps: readonly Step[];
  /** It does its harm after its answer, so that the run after it may come into a guest that is about to end. */
  readonly strikesLater: boolean;
  readonly ending: Ending;
}

/** The limit of time that an attack runs into, or may run into. */
export type Ending = "the deadline" | "the block limit" | "its own end";

/** Reads all files of the corpus. @throws {Error} naming a file that says less than it has to. */
export function readAttacks(level: string): Attack[] {
  const files = readdirSync(ATTACKS, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
  return files.toSorted().map((file) => readAttack(file, readFileSync(path.join(ATTACKS, file), "utf8"), level));
}

/**
 * A file is what a user would submit, below lines of comment that say what it tries and then, a field a line:
 *
 * - `answers:` what the service may answer, see `parseExpectation`; once for each answer that will do
 * - `answers under confined:` what may also be answered on that level, and why is said above it
 * - `after:` the name of a file of `preludes/` that goes before the code
 * - `as:` the content type
 * - `submits: its value` when the file is an expression that the test evaluates: a text too long or too dull to be written down
 * - `strikes: later` when the next run may come into a guest that is about to end; `strikes: later, by a block` when the
 *   block limit is what ends that guest
 * - `lasts: for ever` when nothing but its deadline ends it
 *
 * `// then, in the same container` and `// then, in another container` begin a further submission with fields of its own.
 */
function readAttack(file: string, text: string, level: string): Attack {
  const parts = text.split(/^\/\/ then, in (the same container|another container)$/m);
  const steps: Step[] = [];
  const title = titleOf(parts[0]!);
  for (let index = 0; index < parts.length; index += 2) {
    steps.push(readStep(parts[index]!.trimStart(), (parts[index - 1] ?? "the same container") as Place, level));
  }
  if (title === "") throw new Error(`${file} does not say what it tries`);
  if (steps.some((step) => step.expected.length === 0)) throw new Error(`${file} does not say what it expects`);
  return {
    kind: path.dirname(file),
    name: path.basename(file, ".js"),
    title,
    steps,
    strikesLater: /^\/\/ strikes: later(?:, by a block)?$/m.test(parts[0]!),
    ending: endingOf(parts[0]!, steps),
  };
}

function endingOf(head: string, steps: readonly Step[]): Ending {
  if (/^\/\/ lasts: for ever$/m.test(head)) return "the deadline";
  const codes = steps.flatMap(({ expected }) => expected.map(({ code }) => code));
  return codes.includes("task_blocked") || head.includes("\n// strikes: later, by a block\n")
    ? "the block limit"
    : "its own end";
}

function readStep(text: string, place: Place, level: string): Step {
  const head = /^(?:\/\/.*\n)*/.exec(text)![0];
  const field = (name: string): string[] =>
    [...head.matchAll(new RegExp(`^// ${name}: (.*)$`, "gm"))].map((match) => match[1]!);
  const body = text.slice(head.length);
  const isMade = field("submits").length > 0;
  const prelude = field("after").map((name) => readFileSync(path.join(PRELUDES, `${name}.js`), "utf8"));
  return {
    place,
    text: isMade ? String(runInNewContext(body)) : [...prelude, body].join("\n"),
    contentType: field("as")[0] ?? null,
    expected: [...field("answers").flatMap((each) => asToldOn(level, each)), ...field(`answers under ${level}`)].map(
      parseExpectation,
    ),
  };
}

/** What is not there behind namespaces may be there and refused where one is confined. */
function asToldOn(level: string, answer: string): string[] {
  return level === "confined" && answer.includes("ENOENT") ? [answer, answer.replaceAll("ENOENT", "EACCES")] : [answer];
}

function titleOf(text: string): string {
  const lines = /^(?:\/\/ (?!(?:answers[a-z ]*|after|as|submits|strikes|lasts):).*\n)*/.exec(text)![0];
  return lines
    .replaceAll(/^\/\/ /gm, "")
    .replaceAll("\n", " ")
    .trim();
}
