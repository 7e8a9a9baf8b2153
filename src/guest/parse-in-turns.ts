import { uncurry } from "../wire/uncurry.ts";
import { now } from "./clock.ts";
import type { JsonPieces } from "./json-pieces.ts";

const NativePromise = Promise;
const immediate = setImmediate;
const shift = uncurry(Array.prototype as Waiting[], "shift");

/** The time of all parses in one turn of the event loop. A step that has begun may exceed it. */
const SLICE_MS = 2;

interface Waiting {
  readonly pieces: JsonPieces;
  readonly isOver: () => boolean;
  readonly done: () => void;
}

/** The texts that are parsed. The text with the next turn is first. */
const waiting: Waiting[] = [];

/**
 * Parses a text. All texts together take some milliseconds in each turn of the event loop, so that other runs of the guest and the pings
 * of the service do not wait for a large text, nor for many. Each begins in a later turn, because several may arrive in one.
 *
 * @param isOver whether the run has ended, so that the text is parsed no further
 * @returns resolves when `pieces` has its result, or the run is over
 */
export function parseInTurns(pieces: JsonPieces, isOver: () => boolean): Promise<void> {
  return new NativePromise((done) => {
    waiting[waiting.length] = { pieces, isOver, done };
    if (waiting.length === 1) immediate(turn);
  });
}

function turn(): void {
  const endMs = now() + SLICE_MS;
  do {
    const first = shift(waiting)!;
    if (!first.isOver() && first.pieces.step()) waiting[waiting.length] = first;
    else first.done();
  } while (waiting.length > 0 && now() < endMs);
  if (waiting.length > 0) immediate(turn);
}
