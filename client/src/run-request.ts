import type { RecordedEnvelope, Routes } from "./api-types.ts";
import { mustBeOptions } from "./options.ts";
import type { ParametersOf, RequestBody, RequestOptions } from "./transport.ts";

/**
 * What runs: the text of the code; a named task; or `null` for a token that is pinned to the URL of its code
 * (docs/reference/tokens.md).
 */
export type Source = string | { readonly task: string } | null;

export interface RunOptions extends RequestOptions {
  /** The JSON that the code receives as `context.body`; `context.data` has the members of an object, too. */
  readonly data?: unknown;
  /** The query that the code receives as `context.query`. Only for code in the request. */
  readonly query?: string | Readonly<Record<string, QueryValue | readonly QueryValue[]>> | undefined;
  /** The longest that the run may take: a duration such as `"5s"`, or milliseconds. */
  readonly timeout?: string | number | undefined;
  /** The modules that the code imports, such as `{ "./lib.ts": "export ..." }`. Only for code in the request. */
  readonly modules?: Readonly<Record<string, string>> | undefined;
  /** The npm packages that the code imports: ranges by name, such as `{ zod: "^4" }`. Only for code in the request. */
  readonly packages?: Readonly<Record<string, string>> | undefined;
  /** Your name for the code, in positions and stacks. */
  readonly file?: string | undefined;
  /** The body that a named task receives instead of `data`, byte for byte. Not for code in the request. */
  readonly body?: RequestBody | undefined;
  /** The trace that the run belongs to (W3C Trace Context). */
  readonly traceparent?: string | undefined;
}

export interface RecordOptions extends RunOptions {
  /** How much of the result the record shows: a size such as `"1MiB"`, or `"max"`; default: 256 KiB. */
  readonly maxResult?: string | undefined;
}

type QueryValue = string | number | boolean;
const NAMES = "data query timeout modules packages file body traceparent maxResult signal retry";
/** The shortest timeout of a service. A smaller number is probably meant in seconds. */
const MIN_TIMEOUT_MS = 10;
type RunRoute = "POST /api/runs/{container}";

/** Returns the options. @throws {TypeError} if they are not an object, or one has another name */
export function runOptions<Options extends RecordOptions>(options: Options): Options {
  mustBeOptions(options, NAMES, 'run("acme", code, { data: { name: "you" } })');
  return options;
}

/** Words with spaces between them. Code that consists of words begins with one of the language. */
const SPACED =
  /^(?!(?:return|await|throw|const|let|var|export|import|new|typeof|async|function)\b)[\w.@-]+(?: +[\w.@-]+)+$/;

/** Returns what stands for the container, and the form of a name. */
function containerFound(container: unknown): string {
  if (typeof container !== "string") return typeof container;
  if (!SPACED.test(container)) return "code";
  return `"${container}": a name has the characters A-Z a-z 0-9 _ . @ -, such as "${container.replaceAll(/ +/g, "-")}"`;
}

/** Returns what stands for the code, and what to do. */
function foundOf(source: unknown): string {
  if (source instanceof Promise) return "a Promise: await it";
  if (source instanceof Uint8Array) return 'bytes: read the file as a text, such as readFileSync("task.js", "utf8")';
  return typeof source === "function" ? 'a function: give its text, such as "() => 42"' : typeof source;
}

/** Returns the parameters of the request that runs something. */
export function runRequest(container: string, source: Source, options: RecordOptions): ParametersOf<RunRoute> {
  runOptions(options);
  // No name has a space or a bracket. Perhaps the code is the first argument.
  if (typeof container !== "string" || /[\s(]/.test(container))
    throw new TypeError(
      `container must be a name, not ${containerFound(container)}: run("acme", "return 1", { data })`,
    );
  if (typeof source !== "string" && source !== null && typeof (source as Partial<typeof source>)?.task !== "string")
    throw new TypeError(
      `code must be a text, { task: "name" }, or null for a token with pinned code, not ${foundOf(source)}`,
    );
  if (typeof options.timeout === "number" && !(options.timeout >= MIN_TIMEOUT_MS))
    throw new TypeError(
      `timeout as a number is in milliseconds, and at least ${MIN_TIMEOUT_MS}; for seconds write "${options.timeout}s", not ${options.timeout}`,
    );
  const { data, query, timeout, modules, packages, file, body, traceparent, maxResult } = options;
  const settings = { timeout: typeof timeout === "number" ? `${timeout}ms` : timeout, file, maxResult };
  const common = { path: { container }, headers: { traceparent } };
  if (typeof source === "string") {
    if (body !== undefined) throw new TypeError("body is for a named task; give data to code");
    const envelope = { code: source, data, query, modules, packages, ...settings };
    return { ...common, json: envelope };
  }
  if (query !== undefined || modules !== undefined || packages !== undefined)
    throw new TypeError("query, modules and packages are for code in the request");
  if (data !== undefined && body !== undefined) throw new TypeError("data and body exclude each other");
  const parameters: Routes[RunRoute]["query"] = { ...settings, task: source?.task };
  return { ...common, query: parameters, ...(body === undefined ? { json: data as RecordedEnvelope } : { body }) };
}
