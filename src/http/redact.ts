import { Problem } from "../errors.ts";

/** A shorter one stands in many a text that has nothing to do with it. */
const MIN_CHARS = 4;
const MASK = "[secret]";
/** After what was cut: the mark ends a text or a line of it. */
const CUT = /(?<=…(?:\n|$))/;
const CUT_MARK = /…\n?$/;

/** Takes secrets out of what is logged, and of what is said of a run that went wrong. */
export class Redaction {
  readonly #spellings: readonly string[];

  constructor(secrets: readonly string[]) {
    const long = secrets.filter((secret) => secret.length >= MIN_CHARS);
    const spellings = long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), escaped(secret)]);
    // One secret can be a part of another: the rest of the longer one must not stay.
    this.#spellings = [...new Set(spellings)].toSorted((a, b) => b.length - a.length);
  }

  text(text: string): string {
    if (this.#spellings.length === 0) return text;
    const whole = this.#spellings.reduce((rest, secret) => rest.replaceAll(secret, MASK), text);
    const parts = whole.split(CUT);
    return parts.map((part, index) => this.#withoutBegun(part, index === parts.length - 1)).join("");
  }

  bytes(text: Buffer): Buffer {
    return this.#spellings.length === 0 ? text : Buffer.from(this.text(text.toString()));
  }

  /** All texts of a value that is JSON, names too. */
  value<T>(value: T): T {
    return JSON.parse(JSON.stringify(value), (_, each: unknown) => this.#member(each)) as T;
  }

  /** What is no `Problem` is of the service's own, says nothing to callers, and stays. */
  error(error: unknown): unknown {
    return error instanceof Problem ? this.problem(error) : error;
  }

  /** What a caller is answered, and what is logged of it. */
  problem(problem: Problem): Problem {
    const { hint, violations, error: taskError, ...rest } = problem.options;
    return new Problem(problem.code, this.text(problem.message), {
      ...rest,
      ...(hint !== undefined && { hint: this.text(hint) }),
      ...(violations && { violations: this.value(violations) }),
      ...(taskError && { error: this.value(taskError) }),
    });
  }

  /** The guest cuts what is too long before anything is taken out of it: of a secret its begin may stand there. */
  #withoutBegun(part: string, isLast: boolean): string {
    const mark = CUT_MARK.exec(part)?.[0] ?? "";
    // Of a text that bears no mark the last letters may be a word's.
    if (mark === "" && !isLast) return part;
    const text = part.slice(0, part.length - mark.length);
    const least = mark === "" ? MIN_CHARS : 1;
    const begins = this.#spellings.map((secret) => beginAtEnd(text, secret, least));
    const from = Math.min(...begins);
    return from === Infinity ? part : `${text.slice(0, from)}${MASK}${mark}`;
  }

  #member(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [this.text(name), each]));
  }
}

/** Where the begin of a secret stands that the text ends with, Infinity where there is none. */
function beginAtEnd(text: string, secret: string, least: number): number {
  const first = Math.max(0, text.length - secret.length + 1);
  for (let at = text.indexOf(secret[0]!, first); at >= 0; at = text.indexOf(secret[0]!, at + 1)) {
    if (text.length - at < least) break;
    if (secret.startsWith(text.slice(at))) return at;
  }
  return Infinity;
}

function escaped(secret: string): string {
  // A lone surrogate has no escape.
  return encodeURIComponent(secret.toWellFormed());
}
