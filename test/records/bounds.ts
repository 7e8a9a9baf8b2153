import { type NodeConfig, NODES } from "../../src/config/groups/nodes.ts";
import { type RecordConfig, RECORDS } from "../../src/config/groups/records.ts";

/** The defaults of everything that keeps or reads records. */
export const BOUNDS = Object.fromEntries(
  Object.entries({ ...RECORDS, ...NODES }).map(([name, { fallback }]) => [name, fallback]),
) as unknown as RecordConfig & NodeConfig;
