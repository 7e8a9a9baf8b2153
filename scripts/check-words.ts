/**
 * Counts words that hide the actor or the meaning of a sentence (see AGENTS.md), in comments, in Markdown, and in the texts of
 * code: errors, hints, help, log lines, titles of tests. Fails if there are more than the budget. Fails also if there are fewer,
 * so that the budget is lowered and only shrinks.
 *
 * `--list` prints every finding.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** The maximum number of findings. Lower it with each change; it ends at 0. */
const BUDGET = 0;

const WORDS: readonly string[] = [
  ...["whoever", "whomever", "whom", "nobody", "somebody", "anybody", "anew", "mend", "mends", "mended", "mending"],
  ...["hears", "heard", "hearing", "tells", "told", "says", "said", "saying", "knows", "he", "him", "his", "comes to"],
  ...["at the most", "all the same"],
  ...["by and by", "of its own", "in place of", "beside", "of those that", "such a", "such as these"],
];
/** Words that are wrong only at the start of a sentence. */
const OPENERS: readonly string[] = ["who", "those", "such", "one that", "one who", "what is no", "where", "else"];

const WORD = new RegExp(`\\b(?:${WORDS.join("|")})\\b`, "gi");
const OPENER = new RegExp(`(?:^|[.:;] )(?:${OPENERS.join("|")})\\b`, "gi");
/** A text of code may be a part of a sentence, so its start is not checked. */
const TEXT_OPENER = new RegExp(`[.:] (?:${OPENERS.join("|")})\\b`, "gi");
/** A string or a template on one line. */
const TEXT = /"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
/** At least three words. Shorter strings are names. */
const SENTENCE = /[\w,;:}] +[\w$]+[,;:]? +\w/;
/** Excluded files: foreign text, this list of words, and the generated pages and types, whose texts are in the code. */
const LEFT_OUT =
  /^(?:LICENSE|package-lock\.json|scripts\/check-words\.ts|docs\/reference\/(?:errors|settings)\.md|client\/src\/api-types\.ts)$/;

interface Find {
  readonly place: string;
  readonly words: string;
}

const files = execFileSync("git", ["ls-files", "*.ts", "*.tsx", "*.mjs", "*.js", "*.md"], { encoding: "utf8" }).split(
  "\n",
);
const found = files.filter((file) => existsSync(file) && !LEFT_OUT.test(file)).flatMap(findIn);
if (process.argv.includes("--list")) for (const { place, words } of found) console.log(`${place}: ${words}`);
console.log(`words: ${found.length} places, ${BUDGET} allowed`);
if (found.length > BUDGET) {
  console.error("Rewrite the new texts in plain English: scripts/node scripts/check-words.ts --list prints them.");
  process.exitCode = 1;
} else if (found.length < BUDGET) {
  console.error(`Lower BUDGET in scripts/check-words.ts to ${found.length}.`);
  process.exitCode = 1;
}

function findIn(file: string): Find[] {
  const lines = readFileSync(file, "utf8").split("\n");
  const isMarkdown = file.endsWith(".md");
  const prose = isMarkdown ? proseOfMarkdown(lines) : lines.map(commentOf);
  return prose.flatMap((text, at) => {
    const words = wordsIn(text, [WORD, OPENER]);
    if (!isMarkdown && isCodeLine(lines[at]!)) words.push(...wordsIn(textsOf(lines[at]!), [WORD, TEXT_OPENER]));
    return words.length === 0 ? [] : [{ place: `${file}:${at + 1}`, words: words.join(", ") }];
  });
}

function wordsIn(text: string, patterns: readonly RegExp[]): string[] {
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([word]) => word));
}

function isCodeLine(line: string): boolean {
  return !/^\s*(?:\/\/|\/\*|\*)/.test(line);
}

/** Returns the comment of a line of code without names in backticks: a whole-line comment, or the text after `//`. */
function commentOf(line: string): string {
  const comment = isCodeLine(line) ? (/ \/\/ (.*)$/.exec(line)?.[1] ?? "") : line.trim().replace(/^[/* ]+/, "");
  return comment.replaceAll(/`[^`]*`/g, "``");
}

/** Returns the texts of a line of code that are sentences, without the expressions in them. */
function textsOf(line: string): string {
  const texts = [...line.matchAll(TEXT)].map(([, string, template]) => string ?? template!);
  return texts
    .map((text) => text.replaceAll(/\$\{[^}]*\}/g, "x"))
    .filter((text) => SENTENCE.test(text))
    .join("\n");
}

/** Returns Markdown without code, which contains programs and their output. */
function proseOfMarkdown(lines: readonly string[]): string[] {
  let isCode = false;
  return lines.map((line) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    return isCode ? "" : line.replaceAll(/`[^`]*`/g, "``").replace(/^[\s>*\-|#\d.]+/, "");
  });
}
