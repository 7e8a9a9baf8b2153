import type { CodeMessage } from "../wire/code-message.ts";
import { textFrame } from "../wire/frames.ts";
import { FROM_GUEST } from "../wire/messages.ts";
import {
  BODY_HEAD,
  JSX_SOURCES,
  jsxRuntime,
  type Loader,
  type TransformMessage,
  type TransformOrder,
} from "../wire/transform.ts";
import { CodeFault } from "./faults.ts";
import { GeneratedMap } from "./generated-maps.ts";
import { faultOfModule } from "./module-source.ts";
import type { Packages } from "./packages.ts";
import type { Run } from "./run.ts";
import { send } from "./service-link.ts";
import { InlineMap } from "./source-map.ts";
import type { Stripped } from "./strip.ts";
import { inFile, syntaxFault } from "./syntax.ts";

/** Texts with decorators or JSX, from which the service makes JavaScript. */

const { stringify } = JSON;
const { keys } = Object;

/** A text with `import` or `export` is a module. Any other may be the body of a function, with `return`. */
const MODULE = /^[ \t]*(?:import\b(?!\s*[(.])|export\b)/m;
const CLOSING_TAG = /<\/|\/>/;

/** Returns the order for a submitted text that needs a loader. */
export function orderOf(text: string, loader: Loader): TransformOrder {
  return { loader, isBody: !MODULE.test(text) };
}

/** Returns the orders for the submitted modules that need the builder, by specifier. */
export function ordersOfModules(modules: CodeMessage["modules"]): Record<string, TransformOrder> {
  const orders: Record<string, TransformOrder> = {};
  const specifiers = keys(modules ?? {});
  for (let index = 0; index < specifiers.length; index += 1) {
    const specifier = specifiers[index]!;
    const loader = loaderOfModule(specifier, modules![specifier]!);
    if (loader) orders[specifier] = { loader, isBody: false };
  }
  return orders;
}

function loaderOfModule(specifier: string, text: string): Loader | null {
  const extension = /\.[mc]?([jt]sx?)$/.exec(specifier)?.[1];
  if ((extension === "tsx" || extension === "jsx") && CLOSING_TAG.test(text)) return extension;
  // Parsing each module would take as long as loading it.
  if (extension === undefined || !text.includes("@")) return null;
  const typescript = extension === "ts" || extension === "tsx";
  const needed = faultOfModule({ text, typescript }, specifier)?.loader;
  return needed === "ts" ? (typescript && extension === "tsx" ? "tsx" : "ts") : null;
}

/** Asks the service for JavaScript. The run must wait for the answer. */
export function askForTransform(
  run: Run,
  message: Omit<TransformMessage, "jsxImportSource">,
  packages: Packages | null,
): void {
  send(textFrame(FROM_GUEST.transform, run.id, stringify({ ...message, jsxImportSource: jsxSourceOf(packages) })));
}

/** Returns the module of the functions that JSX calls. */
function jsxSourceOf(packages: Packages | null): string | null {
  for (let index = 0; index < JSX_SOURCES.length; index += 1) {
    const source = JSX_SOURCES[index]!;
    if (packages?.entryOf(jsxRuntime(source))) return source;
  }
  return null;
}

/** Returns the text of a module with its map. */
export function generatedModule(text: string): Stripped {
  const map = InlineMap.of(text);
  return { text, map: map && new GeneratedMap(map, 0) };
}

/** JavaScript that was made from a body. */
export interface GeneratedBody extends Stripped {
  /** The text without what the builder has added in front. */
  readonly body: string;
}

/**
 * Returns the text of a body with its map. What the builder has added in front of the body is in the same scope, with
 * `require` for `import`. All lines keep their numbers.
 */
export function generatedBody(text: string): GeneratedBody | null {
  const start = text.startsWith(BODY_HEAD) ? 0 : text.indexOf(`\n${BODY_HEAD}`) + 1;
  const end = text.lastIndexOf("\n}");
  if (!text.startsWith(BODY_HEAD, start) || end < start) return null;
  const added = text.slice(0, start).replace(IMPORT, (_, names: string, specifier: string) => {
    return `const {${names.replace(/\s+as\s+/g, ": ")}} = require("${specifier}");`;
  });
  const map = InlineMap.of(text);
  const body = text.slice(start + BODY_HEAD.length, end);
  return { text: added + body, body, map: map && new GeneratedMap(map, BODY_HEAD.length) };
}

const IMPORT = /^import \{([^{}]*)\} from "([^"\n]*)";$/gm;

/**
 * Returns the fault of a text that the builder has rejected.
 *
 * @param submitted the text
 * @param name the specifier of a module; null for the submitted text
 */
export function rejectedText(fault: string, submitted: string, isBody: boolean, name: string | null): CodeFault {
  const [, message, line, column] = /^([^\n]*) \(line (\d{1,7}), column (\d{1,7})\)/.exec(fault) ?? [];
  if (message === undefined) return new CodeFault("code_syntax", fault);
  const shift = isBody && line === "1" ? BODY_HEAD.length : 0;
  const position = { line: Number(line), column: Math.max(1, Number(column) - shift) };
  const found = syntaxFault(submitted, { message, position });
  const file = name?.replace(/^\.\//, "");
  return file === undefined ? found : inFile(file, found, `${file}: ${found.fault.detail}`);
}
