import { Problem } from "../errors.ts";
import type { JsonVisitor, Span } from "./json-scanner.ts";
import { givenTwice, nameAt } from "./json.ts";

/** Names go to the guest's module loader: bounded, so that no envelope fills its table. */
const MAX_MODULES = 100;
/** Far more than there are, so that a few that are unknown are reported by name. */
const MAX_MEMBERS = 32;

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/**
 * Finds the members of an envelope while it is checked. Only what is needed is built afterwards: `data` stays the text
 * that it is, and half a million members of it cost nothing here.
 */
export class EnvelopeMembers implements JsonVisitor {
  readonly #bytes: Buffer;
  readonly #values = new Map<string, Span>();
  readonly #modules = new Map<string, Span>();
  #names = 0;
  #moduleNames = 0;
  #inModules = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Whether the JSON is an object. */
  isObject = false;

  opened(depth: number): void {
    if (depth === 1) this.isObject = true;
  }

  /** @throws {Problem} `request_invalid` at the first member too many. */
  named(depth: number, start: number, end: number): void {
    if (depth === 1) {
      this.#names += 1;
      if (this.#names > MAX_MEMBERS) {
        throw tooMany(`${MAX_MEMBERS} members; code, data and modules are all that it takes`);
      }
      this.#inModules = end - start <= LONGEST_MODULES && nameAt(this.#bytes, { start, end }) === "modules";
    } else if (depth === 2 && this.#inModules) {
      this.#moduleNames += 1;
      if (this.#moduleNames > MAX_MODULES) throw tooMany(`${MAX_MODULES} modules`);
    }
  }

  /** @throws {Problem} `request_invalid` for a name that stands there twice. */
  member(depth: number, name: Span, value: Span): void {
    if (depth === 1) keep(this.#values, nameAt(this.#bytes, name), value);
    else if (depth === 2 && this.#inModules) keep(this.#modules, nameAt(this.#bytes, name), value);
  }

  /** The text of `data` as it was sent, or null when there is none. */
  get data(): string | null {
    const span = this.#values.get("data");
    return span ? this.#bytes.toString("utf8", span.start, span.end) : null;
  }

  /** The envelope with its texts. In place of each other value stands an empty one. */
  get value(): object {
    const members = [...this.#values].map(([name, span]): [string, unknown] => {
      if (name === "code") return [name, this.#text(span)];
      if (name !== "modules") return [name, null];
      return [name, this.#bytes[span.start] === OPEN_BRACE ? this.#moduleTexts() : this.#text(span)];
    });
    // Defined and not set: `__proto__` is a name like any other.
    return Object.fromEntries(members);
  }

  #moduleTexts(): object {
    return Object.fromEntries([...this.#modules].map(([name, span]) => [name, this.#text(span)]));
  }

  /** A text, or an empty value of the kind that stands there. */
  #text({ start, end }: Span): unknown {
    const first = this.#bytes[start];
    if (first === QUOTE) return JSON.parse(this.#bytes.toString("utf8", start, end));
    if (first === OPEN_BRACE) return {};
    return first === OPEN_BRACKET ? [] : null;
  }
}

/** `"modules"` with each letter escaped. */
const LONGEST_MODULES = '"modules"'.length + 5 * "modules".length;

function keep(members: Map<string, Span>, name: string, value: Span): void {
  if (members.has(name)) throw givenTwice(name);
  members.set(name, value);
}

function tooMany(most: string): Problem {
  return new Problem("request_invalid", `the envelope has more than ${most}`);
}
