import { nextTurn } from "../../next-turn.ts";
import type { Family } from "./family.ts";
import type { formatFamily } from "./format-family.ts";

/** The type of the text format of Prometheus. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

let format: typeof formatFamily | null = null;

/**
 * Loads the client of Prometheus. It takes some milliseconds of a start, and most services have no collector that waits for
 * its first answer.
 */
export async function loadExposition(): Promise<typeof formatFamily> {
  return (format ??= (await import("./format-family.ts")).formatFamily);
}

/** Writes families as text. Each takes its own turn of the event loop, because runs continue meanwhile. */
export async function exposition(families: Iterable<Family>): Promise<string> {
  const write = await loadExposition();
  const parts: string[] = [];
  for (const family of families) {
    parts.push(await write(family));
    await nextTurn();
  }
  return parts.join("\n");
}
