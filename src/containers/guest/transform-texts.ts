import { Problem } from "../../errors.ts";
import {
  JSX_SOURCES,
  type Loader,
  LOADERS,
  textToTransform,
  type TransformedMessage,
  type TransformMessage,
  type TransformOrder,
} from "../../wire/transform.ts";
import type { Code } from "./code-table.ts";
import type { GuestRun } from "./guest-run.ts";

/**
 * Makes JavaScript from a text with an inline source map.
 *
 * @param family the token family whose run needs it
 * @param signal aborts when the run no longer waits; the promise then rejects with its reason
 * @throws {Problem} `code_syntax` if the text is at fault
 */
export type TransformText = (text: string, loader: Loader, family: string, signal: AbortSignal) => Promise<string>;

/** The maximum time that a run waits for the builder. Another run of the same text then finds what was made. */
const WAIT_MS = 10_000;
const RETRY_MS = 2_000;

/**
 * The longest texts of a code that are kept for the builder while a run waits, in bytes. It stops runs that never end from
 * filling the memory with their texts.
 */
const MAX_BYTES = 262_144;
const MARKS = ["@", "</", "/>"];

/** Whether the builder may have to make JavaScript from texts of a code: they have a decorator or a tag, or a text that looks so. */
export function mayNeedTransform({ source, modules }: Pick<Code, "source" | "modules">): boolean {
  let bytes = source.length;
  const text = Buffer.from(source.buffer, source.byteOffset, source.length);
  let isMarked = bytes <= MAX_BYTES && MARKS.some((mark) => text.includes(mark));
  for (const module of Object.values(modules ?? {})) {
    bytes += module.length;
    isMarked ||= bytes <= MAX_BYTES && MARKS.some((mark) => module.includes(mark));
  }
  return isMarked && bytes <= MAX_BYTES;
}

/**
 * Makes JavaScript from the texts that a guest names, once for each run. The promise rejects only with a `Problem`.
 *
 * @throws {Error} if honest code could not have sent the message
 */
export function transformRun(
  guestRun: GuestRun,
  payload: Buffer,
  transform: TransformText | null,
): Promise<TransformedMessage> {
  if (guestRun.hasAsked || guestRun.streaming) throw new Error("a second transform, or one after a head");
  guestRun.hasAsked = true;
  const { submitted, family } = guestRun;
  guestRun.submitted = null;
  if (!submitted || !transform) return Promise.resolve({});
  const order = parseTransform(payload, submitted);
  const waiting = new AbortController();
  guestRun.transforming = waiting;
  const timer = setTimeout(() => waiting.abort(late()), WAIT_MS);
  const make = (text: string, loader: Loader): Promise<string> => transform(text, loader, family, waiting.signal);
  return transformTexts(order, submitted, make)
    .catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      throw new Problem("internal_error", "the text could not be made JavaScript", { cause: error });
    })
    .finally(() => {
      clearTimeout(timer);
      guestRun.transforming = null;
    });
}

/**
 * Parses a `transform` message of a guest, which may be forged. It names texts of the code only.
 *
 * @throws {TypeError} if the message is invalid.
 */
function parseTransform(payload: Buffer, { modules: submitted }: Pick<Code, "modules">): TransformMessage {
  const { main, modules, jsxImportSource } = members(JSON.parse(payload.toString()));
  const named = Object.entries(members(modules));
  if (named.some(([name]) => submitted === null || !Object.hasOwn(submitted, name))) {
    throw new TypeError("a transform of a module that the code does not have");
  }
  if (main === null && named.length === 0) throw new TypeError("a transform of no text");
  if (jsxImportSource !== null && !JSX_SOURCES.includes(jsxImportSource as string)) {
    throw new TypeError("a transform with an unknown source");
  }
  return {
    main: main === null ? null : orderOf(main),
    modules: Object.fromEntries(named.map(([name, order]) => [name, orderOf(order)])),
    jsxImportSource: jsxImportSource as string | null,
  };
}

/**
 * Makes JavaScript from texts of a code.
 *
 * @throws {Problem} if the builder fails
 */
async function transformTexts(
  { main, modules, jsxImportSource }: TransformMessage,
  code: Pick<Code, "source" | "modules">,
  transform: (text: string, loader: Loader) => Promise<string>,
): Promise<TransformedMessage> {
  let name: string | null = null;
  const make = (text: string, order: TransformOrder): Promise<string> => {
    return transform(textToTransform(text, order, jsxImportSource), order.loader);
  };
  try {
    const made: Record<string, string> = {};
    for (const [specifier, order] of Object.entries(modules)) {
      name = specifier;
      made[specifier] = await make(code.modules![specifier]!, order);
    }
    name = null;
    return { main: main && (await make(Buffer.from(code.source).toString(), main)), modules: made };
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "code_syntax") throw error;
    return { fault: error.message, name };
  }
}

function late(): Problem {
  return new Problem("packages_building", "the builder has not yet made JavaScript from the text", {
    retryAfterMs: RETRY_MS,
  });
}

function orderOf(value: unknown): TransformOrder {
  const { loader, isBody } = members(value);
  if (!LOADERS.includes(loader as Loader) || typeof isBody !== "boolean") throw new TypeError("an invalid transform");
  return { loader: loader as Loader, isBody };
}

function members(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new TypeError("a message that is not an object");
  return value as Record<string, unknown>;
}
