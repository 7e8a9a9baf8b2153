import type { Emptied } from "./emptied.ts";

/** The outcome of one evaluation of a text. */
export interface Evaluation {
  /** Null for an ES module. */
  module: { exports: unknown } | null;
  /** The initial value of `module.exports`. */
  exports: object | null;
  /** The namespace of an ES module; otherwise the value of the expression or of the body. May be a promise. */
  value: unknown;
}

/** A parsed text. A call evaluates it again, except that an ES module is evaluated once. */
export interface ParsedCode {
  (): Evaluation;
  /**
   * Returns the line of a body's last statement, if it is an expression whose value the body may have meant to return. Call it
   * for a body that has returned nothing; absent for any other text.
   */
  readonly unreturned?: () => number | null;
  /** Returns the line of a body's last statement, if the body prints a value there and returns none; absent for any other text. */
  readonly printed?: () => number | null;
  /** What is probably wrong with the text, although it parses. */
  readonly hint?: Emptied | null;
  /** Whether the text is given the context of the run. */
  readonly takesContext: boolean;
  /** The submitted text. It shares the memory of the string that V8 keeps, except that V8 keeps a text without its types. */
  readonly text: string;
  /**
   * Checks the text in full without evaluating it: an ES module, which V8 otherwise parses when it is loaded, and the modules
   * that the text requires whenever it executes.
   */
  readonly parse: () => unknown;
}
