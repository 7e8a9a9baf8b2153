import { Problem } from "../errors.ts";
import { MAX_MODULES } from "../wire/specifiers.ts";
import type { JsonVisitor, Span } from "./json-scanner.ts";
import { duplicateMember, nameAt } from "./json.ts";

/**
 * The maximum number of members. It is far above the four known members, so that an answer can name a few unknown
 * ones.
 */
const MAX_MEMBERS = 32;

/** The maximum length of an option. It stops an option that takes long to parse. */
const MAX_OPTION_BYTES = 65_536;

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/**
 * Records where the members of an envelope are while the scanner checks it. Only `code` and `modules` are parsed
 * afterwards: `data` stays text, so that half a million members of it cost nothing here.
 */
export class EnvelopeMembers implements JsonVisitor {
  readonly #bytes: Buffer;
  readonly #values = new Map<string, Span>();
  readonly #modules = new Map<string, Span>();
  #names = 0;
  #moduleNames = 0;
  #inModules = false;

  readonly #options: ReadonlySet<string>;

  /** @param options the names of further members, whose small values are parsed */
  constructor(bytes: Buffer, options: ReadonlySet<string>) {
    this.#bytes = bytes;
    this.#options = options;
  }

  /** Whether the JSON is an object. */
  isObject = false;

  opened(depth: number): void {
    if (depth === 1) this.isObject = true;
  }

  /** @throws {Problem} `request_invalid` at the first member above the maximum. */
  named(depth: number, start: number, end: number): void {
    if (depth === 1) {
      this.#names += 1;
      if (this.#names > MAX_MEMBERS) {
        throw tooMany(`${MAX_MEMBERS} members; it accepts only code, data, modules and packages`);
      }
      this.#inModules = end - start <= LONGEST_MODULES && nameAt(this.#bytes, { start, end }) === "modules";
    } else if (depth === 2 && this.#inModules) {
      this.#moduleNames += 1;
      if (this.#moduleNames > MAX_MODULES) throw tooMany(`${MAX_MODULES} modules`);
    }
  }

  /** @throws {Problem} `request_invalid` for a duplicate name. */
  member(depth: number, name: Span, value: Span): void {
    if (depth === 1) addMember(this.#values, nameAt(this.#bytes, name), value);
    else if (depth === 2 && this.#inModules) addMember(this.#modules, nameAt(this.#bytes, name), value);
  }

  /** The text of `data` as it was sent, or null if absent. */
  get data(): string | null {
    const span = this.#values.get("data");
    return span ? this.#bytes.toString("utf8", span.start, span.end) : null;
  }

  /** The envelope with its strings. Every other value is replaced by an empty value of the same kind. */
  get value(): object {
    const members = [...this.#values].map(([name, span]): [string, unknown] => {
      if (name === "code") return [name, this.#text(span)];
      if (name === "packages" || this.#options.has(name)) return [name, this.#small(span)];
      if (name !== "modules") return [name, null];
      return [name, this.#bytes[span.start] === OPEN_BRACE ? this.#moduleTexts() : this.#text(span)];
    });
    // `fromEntries` defines members and does not set them: `__proto__` becomes an ordinary member.
    return Object.fromEntries(members);
  }

  /** Returns the value of an option or of `packages`; undefined, which neither accepts, if it is too large to parse at once. */
  #small({ start, end }: Span): unknown {
    return end - start > MAX_OPTION_BYTES ? undefined : JSON.parse(this.#bytes.toString("utf8", start, end));
  }

  #moduleTexts(): object {
    return Object.fromEntries([...this.#modules].map(([name, span]) => [name, this.#text(span)]));
  }

  /** Returns a string, or an empty value of the kind at this position. */
  #text({ start, end }: Span): unknown {
    const first = this.#bytes[start];
    if (first === QUOTE) return JSON.parse(this.#bytes.toString("utf8", start, end));
    if (first === OPEN_BRACE) return {};
    return first === OPEN_BRACKET ? [] : null;
  }
}

/** The length of `"modules"` with each letter escaped. */
const LONGEST_MODULES = '"modules"'.length + 5 * "modules".length;

function addMember(members: Map<string, Span>, name: string, value: Span): void {
  if (members.has(name)) throw duplicateMember(name);
  members.set(name, value);
}

function tooMany(most: string): Problem {
  return new Problem("request_invalid", `the envelope has more than ${most}`);
}
