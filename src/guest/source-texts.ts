import type { ErrorMessage, FaultMessage, PositionMessage } from "../wire/messages.ts";
import { codeFrame, type SourcePosition } from "./code-frame.ts";
import { generatedMap } from "./generated-maps.ts";
import { type MissingModule, missingOf } from "./missing-module.ts";
import { textOfModule } from "./modules.ts";
import { InlineMap, type OriginalPosition } from "./source-map.ts";
import { safeName } from "./source-names.ts";
import {
  asSubmitted,
  type ShowPosition,
  showPlain,
  type StackPosition,
  topPosition,
  withPositions,
} from "./stack-positions.ts";
import { excerptOf } from "./syntax.ts";

/** The longest stack of a fault, in characters. */
const MAX_STACK = 32 * 1024;

const { create } = Object;

/**
 * The texts of one code, for the positions in its errors. Only positions in these texts have a code frame and a source map:
 * another code in the same guest can belong to an author whose text the caller may not read.
 */
export class SourceTexts {
  /** The submitted text, without its modules. Empty if no stack can refer to it. */
  main: string;
  readonly #codeId: number;
  /** The maps of the texts that a stack has referred to, by name. */
  #maps: Record<string, InlineMap | null> | null = null;
  readonly #show: ShowPosition = (position) => {
    const original = this.#originalOf(position);
    return original ? `${original.file}:${original.line}:${original.column}` : showPlain(position);
  };

  constructor(codeId: number, main: string) {
    this.#codeId = codeId;
    this.main = main;
  }

  /** Rewrites the positions in a printed text. Never throws. */
  asPrinted(text: string): string {
    try {
      return withPositions(text, this.#show);
    } catch {
      return text;
    }
  }

  /** Returns a fault with its position, and with stacks as the author of the code sees them. Never throws. */
  located(fault: FaultMessage): FaultMessage {
    const { error } = fault;
    if (!error) return fault;
    try {
      const missing = missingOf(fault);
      if (missing) return this.#locatedMissing(fault, error, missing);
      const top = fault.at ? null : this.#topOf(error);
      this.#rewriteStacks(error);
      return top ? { ...fault, at: this.#positionMessage(top) } : fault;
    } catch {
      // The code has replaced a built-in that is used here.
      return { ...fault, error: { name: error.name, message: error.message } };
    }
  }

  /** Returns the fault of a missing module with the line that imports it. V8 gives no position of an import statement. */
  #locatedMissing(fault: FaultMessage, error: ErrorMessage, missing: MissingModule): FaultMessage {
    const top = this.#topOf(error);
    this.#rewriteStacks(error);
    const name = top?.name ?? (missing.importer === "" ? "task.js" : missing.importer);
    const text = this.#textOf(name);
    const position = top ?? (text === null ? null : importOf(text, missing.specifier));
    if (!position) return fault;
    const at = this.#positionMessage({ codeId: this.#codeId, name, line: position.line, column: position.column });
    const isSame = at.line === position.line && at.column === position.column;
    const where = text !== null && isSame ? excerptOf(text, position) : `(line ${at.line}, column ${at.column})`;
    const file = /^task\.[jt]s$/.test(at.file) ? "" : `${at.file}: `;
    const located = { ...fault, at, detail: `${file}${fault.detail} ${where}` };
    // The stack of an import statement has no frame of the code.
    if (!top) delete located.error;
    return located;
  }

  /** Returns the position of an error, or of its first cause that has one. `Promise.any` rejects without a stack. */
  #topOf({ stack, cause, errors }: ErrorMessage): StackPosition | null {
    const own = stack === undefined ? null : topPosition(stack, this.#codeId);
    const first = errors?.[0];
    return own ?? (cause ? this.#topOf(cause) : null) ?? (first ? this.#topOf(first) : null);
  }

  #rewriteStacks(error: ErrorMessage): void {
    const { stack, cause, errors } = error;
    if (stack !== undefined) error.stack = asSubmitted(stack, this.#show).slice(0, MAX_STACK);
    if (cause) this.#rewriteStacks(cause);
    if (!errors) return;
    for (let index = 0; index < errors.length; index += 1) this.#rewriteStacks(errors[index]!);
  }

  #positionMessage(position: StackPosition): PositionMessage {
    const original = this.#originalOf(position);
    // No frame of the submitted text for an original position: its lines have other numbers.
    if (original) {
      const { file, line, column, text } = original;
      return { file, line, column, frame: text === null ? null : codeFrame(text, original) };
    }
    const { name, line, column } = position;
    const text = this.#textOf(name);
    return {
      file: safeName(name),
      line: Math.max(1, line),
      column,
      frame: text === null ? null : codeFrame(text, position),
    };
  }

  #originalOf(position: StackPosition): OriginalPosition | null {
    if (position.codeId !== this.#codeId) return null;
    const { name } = position;
    const generated = generatedMap(this.#codeId, name)?.originalOf(position);
    if (generated) return { ...generated, file: safeName(name), text: this.#textOf(name) };
    this.#maps ??= create(null) as {};
    let map = this.#maps[name];
    if (map === undefined) {
      const text = this.#textOf(name);
      // The names in a stack are text of the code, so only names of texts are kept.
      if (text === null) return null;
      map = InlineMap.of(text);
      this.#maps[name] = map;
    }
    return map && map.originalOf(position);
  }

  #textOf(name: string): string | null {
    if (name !== "task.js" && name !== "task.ts") return textOfModule(this.#codeId, name);
    return this.main === "" ? null : this.main;
  }
}

/** Finds the first import of a specifier in a text, as a statement or as a call. */
function importOf(text: string, specifier: string): SourcePosition | null {
  const quoted = specifier.replace(/[^\w\s]/g, "\\$&");
  const found = new RegExp(`\\b(?:from|import|require)\\s*\\(?\\s*(?=(["'\`])${quoted}\\1)`).exec(text);
  if (!found) return null;
  const before = text.slice(0, found.index + found[0].length).split("\n");
  return { line: before.length, column: before[before.length - 1]!.length + 1 };
}
