import type { Config } from "../../config.ts";
import type { ContainerManager } from "../../containers/container-manager.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Packages } from "../../packages/packages.ts";
import type { PolicyStore } from "../../policies/store.ts";
import type { Records } from "../../records/records.ts";
import type { Sources } from "../../source/fetch.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RunMetrics } from "../../telemetry/metrics/run-metrics.ts";
import type { RunCounts } from "../../telemetry/run-counts.ts";
import type { RunIds } from "../../telemetry/run-ids.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import type { Authenticator } from "../authenticator.ts";
import type { Bodies } from "../bodies.ts";
import type { Proxies } from "../proxies.ts";
import type { ActiveRuns } from "./active-runs.ts";
import type { RunTraces } from "./run-traces.ts";

/** The parts of the service that a run passes through. */
export interface RunDependencies {
  readonly config: Config;
  readonly tokens: Tokens;
  readonly tasks: Tasks;
  readonly authenticator: Authenticator;
  readonly bodies: Bodies;
  readonly proxies: Proxies;
  readonly limiter: Limiter;
  readonly policies: Pick<PolicyStore, "get">;
  readonly containers: ContainerManager;
  readonly sources: Sources;
  readonly packages: Packages;
  readonly runIds: RunIds;
  readonly runCounts: RunCounts;
  readonly runMetrics: RunMetrics;
  readonly records: Records;
  readonly traces: RunTraces;
  readonly log: Log;
  /** Ends runs with their tokens (`--kill-revoked`); null when runs outlive their tokens. */
  readonly running: ActiveRuns | null;
}
