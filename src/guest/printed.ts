import { uncurry } from "../wire/uncurry.ts";
import type { Run } from "./run.ts";
import { withoutOwnFrames } from "./stack-frames.ts";
import { withPositions } from "./stack-positions.ts";

const includes = uncurry(String.prototype as string, "includes");

/**
 * Returns a text that a task printed with the positions of its stacks as thrown errors have them, and without frames of the
 * guest's own program. Most texts have no stack and are returned as they are.
 */
export function asPrinted(text: string, run: Run | undefined): string {
  if (!includes(text, "task:/")) return withoutOwnFrames(text);
  const submitted = withoutOwnFrames(text);
  return run ? run.code.asPrinted(submitted) : withPositions(submitted);
}
