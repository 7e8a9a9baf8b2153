/**
 * What guest and service say to each other about texts that need more than Node's stripper: decorators and JSX. The guest
 * names the texts; the service has them, and asks the builder.
 */

export const LOADERS = ["ts", "tsx", "jsx"] as const;
export type Loader = (typeof LOADERS)[number];

/** A text that the guest cannot compile. */
export interface TransformOrder {
  readonly loader: Loader;
  /** Whether the text is the body of a function, and no ES module. */
  readonly isBody: boolean;
}

export interface TransformMessage {
  /** The submitted text; null if only modules need it. */
  readonly main: TransformOrder | null;
  /** Submitted modules, by specifier. */
  readonly modules: Readonly<Record<string, TransformOrder>>;
  /** The module of the functions that JSX calls, of the packages of the code; null for `React.createElement`. */
  readonly jsxImportSource: string | null;
}

/** The answer to a `TransformMessage`. Empty if the service has no builder. */
export type TransformedMessage =
  | Record<string, never>
  | {
      /** JavaScript with an inline source map. */
      readonly main: string | null;
      readonly modules: Readonly<Record<string, string>>;
    }
  | {
      /** What is wrong with a text, in the words of the builder. */
      readonly fault: string;
      /** The specifier of the module; null for the submitted text. */
      readonly name: string | null;
    };

/** Packages with functions for JSX, the preferred one first. The entry of each ends in `/jsx-runtime`. */
export const JSX_SOURCES: readonly string[] = ["react", "preact", "hono/jsx"];

/** Returns the entries that the JSX of a text may need, of these packages. A text without a closing tag has no JSX. */
export function runtimeEntries(text: string, packageNames: readonly string[]): string[] {
  if (!/<\/|\/>/.test(text)) return [];
  return JSX_SOURCES.filter((source) => packageNames.includes(source.replace(/\/.*/, ""))).map(jsxRuntime);
}

export function jsxRuntime(source: string): string {
  return `${source}/jsx-runtime`;
}

/** What stands around a body, because a text with `return` is not a module. */
export const BODY_HEAD = "async function _() {";
const BODY_TAIL = "\n}";
/** A comment with which the author of a text chooses the functions that JSX calls. */
const PRAGMA = /@jsx(?:Frag|Runtime|ImportSource)?\b/;

/** Returns the text for the builder. */
export function textToTransform(
  text: string,
  { isBody, loader }: TransformOrder,
  jsxImportSource: string | null,
): string {
  const whole = isBody ? BODY_HEAD + text + BODY_TAIL : text;
  if (loader === "ts" || jsxImportSource === null || PRAGMA.test(text)) return whole;
  return `${whole}\n/** @jsxRuntime automatic @jsxImportSource ${jsxImportSource} */`;
}
