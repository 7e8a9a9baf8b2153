import { Registry } from "@prometheus-io/client";

import type { Family } from "./family.ts";

/** Writes a family in the text format of Prometheus. */
export function formatFamily(family: Family): Promise<string> {
  return Registry.aggregate([[family]]).metrics();
}
