import { Slices } from "../../next-turn.ts";
import type { AnswerReader } from "../ask-node.ts";

/** A kind of answer that nodes exchange: how a node writes its part, how another node reads it, and how parts are merged. */
export interface AnswerKind<T> {
  /** Returns the part as lines of JSON. @param family the token family that reads */
  write(part: T, family: string): Promise<string>;
  newReader(): AnswerReader<T>;
  /** @param parts at least one */
  merge(parts: readonly T[], family: string): Promise<T>;
}

/** Writes values as lines of JSON, in slices. */
export async function writeLines(values: Iterable<unknown>, family: string): Promise<string> {
  const slices = new Slices(family);
  let text = "";
  for (const value of values) {
    if (slices.hasEnded) await slices.next();
    text += `${JSON.stringify(value)}\n`;
  }
  return text;
}

/** The error of an answer that no node of this service sends. */
export function foreign(): Error {
  return new Error("its answer does not fit the request");
}
