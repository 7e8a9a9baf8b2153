import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { runInNewContext } from "node:vm";

import { type Expectation, parseExpectation } from "./expectation.ts";

const ATTACKS = path.join(import.meta.dirname, "attacks");
const PRELUDES = path.join(import.meta.dirname, "preludes");

/** A submission of an attack, and its accepted answers. */
export interface Step {
  readonly place: Place;
  /** The submitted text, with placeholders for the canaries. */
  readonly text: string;
  readonly contentType: string | null;
  readonly expected: readonly Expectation[];
}

/** The container of a step: the attacked container, or another one. */
export type Place = "the same container" | "another container";

/** A file of the corpus. */
export interface Attack {
  /** The folder of the file. */
  readonly kind: string;
  /** The name of the file, without the extension. */
  readonly name: string;
  /** A sentence that describes the attack. */
  readonly title: string;
  readonly steps: readonly Step[];
  /** Whether the harm follows the answer, so that the next run may be sent to a guest that is about to end. */
  readonly strikesLater: boolean;
  readonly ending: Ending;
  /** Whether every action of the attack must be refused or only reads, so that its guest stays as it was. */
  readonly changesNothing: boolean;
}

/** The time limit that an attack reaches, or may reach. */
export type Ending = "the deadline" | "the block limit" | "its own end";

/** Reads all files of the corpus. @throws {Error} that names a file without a title or an expected answer. */
export function readAttacks(level: string): Attack[] {
  const files = readdirSync(ATTACKS, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
  return files.toSorted().map((file) => readAttack(file, readFileSync(path.join(ATTACKS, file), "utf8"), level));
}

/**
 * Parses a file of the corpus. It is code as a user would submit it, below comment lines: the title, and then the fields,
 * one on each line:
 *
 * - `answers:` an accepted answer of the service, see `parseExpectation`; one line for each accepted answer
 * - `answers under confined:` a further accepted answer at that level; the comment above it gives the reason
 * - `after:` the name of a file in `preludes/` that is inserted before the code
 * - `as:` the content type
 * - `submits: its value` if the file is an expression whose value is submitted, for long and repetitive texts
 * - `strikes: later` if the next run may be sent to a guest that is about to end; `strikes: later, by a block` if the block
 *   limit ends that guest
 * - `lasts: for ever` if only the deadline ends the run
 * - `leaves: nothing` if its guest stays as it was, because every action only reads or must be refused. Attacks that consist of
 *   attempts which must all be refused need no such line.
 *
 * `// then, in the same container` and `// then, in another container` start a further submission with separate fields.
 */
function readAttack(file: string, text: string, level: string): Attack {
  const parts = text.split(/^\/\/ then, in (the same container|another container)$/m);
  const steps: Step[] = [];
  const title = titleOf(parts[0]!);
  for (let index = 0; index < parts.length; index += 2) {
    steps.push(readStep(parts[index]!.trimStart(), (parts[index - 1] ?? "the same container") as Place, level));
  }
  if (title === "") throw new Error(`${file} has no title`);
  if (steps.some((step) => step.expected.length === 0))
    throw new Error(`${file} has a step without an expected answer`);
  return {
    kind: path.dirname(file),
    name: path.basename(file, ".js"),
    title,
    steps,
    strikesLater: /^\/\/ strikes: later(?:, by a block)?$/m.test(parts[0]!),
    ending: endingOf(parts[0]!, steps),
    changesNothing: onlyAttempts(parts) || /^\/\/ leaves: nothing$/m.test(parts[0]!),
  };
}

/** Whether a file consists of attempts of the prelude `attempts`, all of which must be refused. */
function onlyAttempts([head, ...others]: readonly string[]): boolean {
  const answers = [...head!.matchAll(/^\/\/ answers[a-z ]*: (.*)$/gm)].map((match) => match[1]);
  const isRefused = answers.length === 1 && answers[0] === "200 []";
  return others.length === 0 && isRefused && /^\/\/ after: attempts$/m.test(head!) && !/^\/\/ strikes:/m.test(head!);
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
    expected: [...field("answers").flatMap((each) => expectedAt(level, each)), ...field(`answers under ${level}`)].map(
      parseExpectation,
    ),
  };
}

/** Accepts EACCES for ENOENT at the level confined, where a file that namespaces hide may exist and be refused. */
function expectedAt(level: string, answer: string): string[] {
  return level === "confined" && answer.includes("ENOENT") ? [answer, answer.replaceAll("ENOENT", "EACCES")] : [answer];
}

function titleOf(text: string): string {
  const lines = /^(?:\/\/ (?!(?:answers[a-z ]*|after|as|submits|strikes|lasts|leaves):).*\n)*/.exec(text)![0];
  return lines
    .replaceAll(/^\/\/ /gm, "")
    .replaceAll("\n", " ")
    .trim();
}
