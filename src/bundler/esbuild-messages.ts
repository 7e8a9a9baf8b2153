import type { BuildFailure, Message } from "esbuild";

/** Returns the messages of esbuild's error, at least one, or null for another error. */
export function esbuildMessages(error: unknown): readonly Message[] | null {
  const messages = (error as Partial<BuildFailure> | null)?.errors;
  return Array.isArray(messages) && messages.length > 0 ? messages : null;
}
