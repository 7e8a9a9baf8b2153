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
 * Makes JavaScript from the texts of a code, each with an inline source map.
 *
 * @param family the token family whose run needs it
 * @param signal aborts when the run no longer waits; the promise then rejects with its reason
 * @returns the JavaScript of each text, or why a text is rejected and its place, from 0
 */
export type TransformText = (
  texts: readonly { readonly text: string; readonly loader: Loader }[],
  family: string,
  signal: AbortSignal,
) => Promise<readonly string[] | { readonly rejected: string; readonly at: number }>;

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
  return transformTexts(order, submitted, (texts) => transform(texts, family, waiting.signal))
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
  transform: (texts: Parameters<TransformText>[0]) => ReturnType<TransformText>,
): Promise<TransformedMessage> {
  const textOf = (text: string, order: TransformOrder): { text: string; loader: Loader } => {
    return { text: textToTransform(text, order, jsxImportSource), loader: order.loader };
  };
  const names = Object.keys(modules);
  const texts = names.map((name) => textOf(code.modules![name]!, modules[name]!));
  if (main) texts.push(textOf(Buffer.from(code.source).toString(), main));
  const made = await transform(texts);
  if ("rejected" in made) return { fault: made.rejected, name: names[made.at] ?? null };
  const ofModules = Object.fromEntries(names.map((name, at) => [name, made[at]!]));
  return { main: main && made[names.length]!, modules: ofModules };
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
