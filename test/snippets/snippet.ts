import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { PROBLEMS } from "../../src/error-codes.ts";

const FOLDER = path.join(import.meta.dirname, "corpus");
const PARTS = /^--- ?(.*)\n/m;

/** One text as people and language models write it, and its documented answer. */
export interface Snippet {
  readonly title: string;
  readonly code: string;
  /** Further modules of the envelope, by specifier. */
  readonly modules: Readonly<Record<string, string>>;
  /** The lines `query`, `type` and `data` of its head. */
  readonly fields: Readonly<Record<string, string>>;
  readonly status: number;
  readonly isProblem: boolean;
  /** The whole body, or the code of a problem. */
  readonly body: string;
  /** The patterns that the text of a problem must match: its detail, hint and stack. */
  readonly patterns: readonly RegExp[];
}

/**
 * Reads the corpus, which has one file for each kind of snippet. A snippet begins with `=== ` and its title. These lines
 * follow:
 *
 * - the answer: `200` and the body, or the status and the code of a problem
 * - `says:` and a regular expression that the problem must match; may be repeated
 * - `query:` the query of the URL, `type:` the content type, `data:` the data of the envelope
 *
 * Then follows `---` and the code as it is sent, up to the line break before the next `---` or `===`. `--- ./name` begins a
 * module of the envelope. `\{BOM}`, `\{ZWSP}`, `\{CR}` and `\{TAB}` stand for characters that editors hide or change.
 *
 * @throws {Error} that names an incomplete snippet.
 */
export function readSnippets(): Map<string, Snippet[]> {
  const files = readdirSync(FOLDER).toSorted();
  return new Map(
    files.map((file) => {
      const texts = readFileSync(path.join(FOLDER, file), "utf8").split(/^=== /m).slice(1);
      return [path.basename(file, ".txt"), texts.map((text) => readSnippet(file, text))];
    }),
  );
}

function readSnippet(file: string, text: string): Snippet {
  const [head, ...parts] = text.split(PARTS);
  const [title, answer, ...lines] = head!.trimEnd().split("\n");
  const parsed = /^(\d{3})(?: ([^]*))?$/.exec(answer ?? "");
  if (!parsed || parts.length < 2) throw new Error(`${file}: "${title}" has no answer or no code`);
  const fields = lines.map((line): [string, string] => {
    const [, name, value] = /^(says|query|type|data): (.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`${file}: "${title}" has the unknown line ${line}`);
    return [name, value!];
  });
  const modules: Record<string, string> = {};
  for (let at = 2; at < parts.length; at += 2) modules[parts[at]!] = asSent(parts[at + 1]!);
  return {
    title: title!,
    code: asSent(parts[1]!),
    modules,
    fields: Object.fromEntries(fields),
    status: Number(parsed[1]),
    body: parsed[2] ?? "",
    isProblem: parsed[2] !== undefined && Object.hasOwn(PROBLEMS, parsed[2]),
    patterns: fields.filter(([name]) => name === "says").map(([, value]) => new RegExp(value)),
  };
}

function asSent(text: string): string {
  return text
    .replace(/\n+$/, "")
    .replaceAll("\\{BOM}", "\u{FEFF}")
    .replaceAll("\\{ZWSP}", "\u{200B}")
    .replaceAll("\\{CR}", "\r")
    .replaceAll("\\{TAB}", "\t");
}
