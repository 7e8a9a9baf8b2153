import type { Service } from "./service.ts";

/** What a request has besides its code. */
export interface Sent {
  readonly query?: Record<string, string>;
  readonly data?: unknown;
}

/** Runs code in a container, and returns the hint of the run: that of its error if it failed. */
export async function hintOfRun(service: Service, container: string, code: string, sent: Sent = {}): Promise<string> {
  const answer = await service.request("POST", `/api/runs/${container}`, { json: { code, ...sent } });
  const { hint, error } = answer.json() as { hint: string | null; error: { hint?: string | null } | null };
  return error?.hint ?? hint ?? "(none)";
}
