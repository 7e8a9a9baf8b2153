import type { Health } from "@caisson/client";

import { serviceUrl } from "./session.ts";

/** Reads the state of the service. It has a body also with status 503. */
export async function health(signal: AbortSignal): Promise<Health> {
  const response = await fetch(`${serviceUrl}/healthz`, { signal });
  return (await response.json()) as Health;
}
