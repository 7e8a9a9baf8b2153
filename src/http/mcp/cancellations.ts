import type { McpCall } from "./mcp-call.ts";

/** The calls in flight of the sessions on this node. Each leaves with its run. */
const calls = new Map<string, AbortController>();

/**
 * Runs a call that its client can cancel by a later request, which only names the session and the call. A client of
 * 2026 closes the connection instead.
 */
export async function cancellable<T>(
  received: McpCall,
  id: string | number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const key = keyOf(received, id);
  if (key !== null) calls.set(key, controller);
  try {
    return await run(controller.signal);
  } finally {
    if (key !== null && calls.get(key) === controller) calls.delete(key);
  }
}

/** @param params those of the notification */
export function cancelCall(received: McpCall, params: unknown): void {
  const { requestId } = (params ?? {}) as { requestId?: unknown };
  if (typeof requestId !== "string" && typeof requestId !== "number") return;
  const key = keyOf(received, requestId);
  if (key !== null) calls.get(key)?.abort();
}

/** A token reaches only its own calls. */
function keyOf({ by, session }: McpCall, id: string | number): string | null {
  return session === null ? null : JSON.stringify([by.claims.jti, session, id]);
}
