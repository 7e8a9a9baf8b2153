import { randomUUID } from "node:crypto";

import type { CallToolResult } from "@modelcontextprotocol/server";

import { Slices } from "../../next-turn.ts";
import type { ToolResult } from "./tool.ts";

/** The member of the object that stands for the structured content of a result. */
const MARKED = "caisson";
/** The characters that are encoded in one step. */
const PIECE_CHARS = 2 ** 16;
/** JSON has these only between its tokens, and an event ends at them. */
const LINE_ENDS = /[\r\n]+/g;

/**
 * Puts the structured content of one result into the answer of the library. The library writes an answer in one step, which takes
 * a tenth of a second for a list of two megabytes. So it writes a mark, and tools write their lists in turns of the event loop.
 */
export class StructuredText {
  readonly #holder: string;
  /** Nothing that a result contains can be the same. */
  readonly #mark: string = JSON.stringify({ [MARKED]: randomUUID() });
  #texts: readonly string[] | null = null;

  /** @param holder the `holder` argument of `nextTurn` */
  constructor(holder: string) {
    this.#holder = holder;
  }

  /** Returns a result that has a mark instead of its JSON. */
  take({ structuredTexts, ...result }: ToolResult): CallToolResult {
    if (structuredTexts === undefined) return result;
    this.#texts = structuredTexts;
    return { ...result, structuredContent: JSON.parse(this.#mark) as Record<string, unknown> };
  }

  /** Returns the answer with the JSON instead of the mark. An answer of events begins before the result is known. */
  insert({ status, headers, body }: Response): Response {
    if (body === null) return new Response(null, { status, headers });
    const isEvents = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (!isEvents && this.#texts === null) return new Response(body, { status, headers });
    const transform = (chunk: Uint8Array, out: Output): Promise<void> | void => {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      // The library writes an event, or the whole answer, at once.
      const at = this.#texts === null ? -1 : bytes.indexOf(this.#mark);
      if (at === -1) return out.enqueue(chunk);
      return this.#write(bytes.subarray(0, at), bytes.subarray(at + this.#mark.length), out);
    };
    return new Response(body.pipeThrough(new TransformStream({ transform })), { status, headers });
  }

  async #write(head: Buffer, tail: Buffer, out: Output): Promise<void> {
    const slices = new Slices(this.#holder);
    out.enqueue(head);
    for (const piece of piecesOf(this.#texts!)) {
      if (slices.hasEnded) await slices.next();
      if (piece !== "") out.enqueue(Buffer.from(piece.replaceAll(LINE_ENDS, " ")));
    }
    this.#texts = null;
    out.enqueue(tail);
  }
}

/** Returns the elements of an array as parts of JSON. */
export function separated(texts: readonly string[]): string[] {
  return texts.flatMap((text, at) => (at === 0 ? [text] : [",", text]));
}

type Output = TransformStreamDefaultController<Uint8Array>;

/** Yields short texts together, and long ones in slices: a long text that is joined with another one would be copied. */
function* piecesOf(texts: readonly string[]): Generator<string> {
  let short = "";
  for (const text of texts) {
    if (short.length + text.length <= PIECE_CHARS) short += text;
    else {
      yield short;
      short = "";
      for (let at = 0; at < text.length;) {
        const end = at + PIECE_CHARS;
        // A character of two units stays in one piece.
        const next = isLow(text.charCodeAt(end)) ? end + 1 : end;
        yield text.slice(at, next);
        at = next;
      }
    }
  }
  yield short;
}

/** Whether a unit is the second one of a character. */
function isLow(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00;
}
