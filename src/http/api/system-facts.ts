import type { SettingInForce } from "../../config/in-force.ts";
import type { Finding } from "../../finding.ts";

/** The state of a service that its start determines. */
export interface SystemFacts {
  readonly startedAt: string;
  /** The node in records of runs, and the first part of the ids of its runs. */
  readonly node: { readonly name: string; readonly process: string };
  readonly settings: readonly SettingInForce[];
  /** Variables that look like settings and are none, as sentences. */
  readonly unknownVariables: readonly string[];
  /** What is in force where a setting leaves it to the service: the most guests, connections and others. */
  readonly capacity: Readonly<Record<string, number>>;
  /** Returns what `caisson doctor` reports. */
  readonly findings: () => Promise<readonly Finding[]>;
}
