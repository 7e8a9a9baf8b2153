import type { Config } from "../config.ts";
import type { ContainerManager } from "../containers/container-manager.ts";
import type { Pool } from "../containers/pool.ts";
import type { RefusalReason } from "../egress/faults.ts";
import { PROBLEMS } from "../error-codes.ts";
import type { Audit } from "../records/audit/audit.ts";
import type { Drain } from "../records/drain/drain.ts";
import { GUEST_STARTS, RUN_STATUSES } from "../records/record.ts";
import type { RecordStore } from "../records/store.ts";
import type { Usage } from "../records/usage/usage.ts";
import type { EgressCounts } from "../telemetry/egress-counts.ts";
import type { Log } from "../telemetry/log.ts";
import type { EventLoopLag } from "../telemetry/metrics/event-loop-lag.ts";
import { exposition } from "../telemetry/metrics/exposition.ts";
import { counter, type Family, gauge, histogram } from "../telemetry/metrics/family.ts";
import type { Histogram } from "../telemetry/metrics/histogram.ts";
import type { Launches } from "../telemetry/metrics/launches.ts";
import { processFamilies } from "../telemetry/metrics/process-families.ts";
import { RunMetrics } from "../telemetry/metrics/run-metrics.ts";
import type { RunCounts } from "../telemetry/run-counts.ts";

/** Everything that the metrics describe. They are read only while a collector asks. */
export interface MeasuredService {
  readonly version: string;
  readonly isolation: string;
  readonly runs: RunMetrics;
  readonly runCounts: RunCounts;
  readonly containers: Pick<ContainerManager, "activeContainers" | "slots" | "taken">;
  /** The maximum number of live guests of containers. */
  readonly maxSlots: number;
  readonly guests: { readonly size: number };
  readonly launches: Launches;
  readonly pool: Pick<Pool, "state">;
  readonly egressCounts: EgressCounts;
  readonly lag: EventLoopLag;
  readonly packages: MeasuredPackages;
  readonly bodies: { readonly bytes: number };
  readonly recordStore: Pick<RecordStore, "losses">;
  readonly usage: Pick<Usage, "losses">;
  readonly audit: Pick<Audit, "losses">;
  readonly drain: Pick<Drain, "losses"> | null;
  readonly log: Pick<Log, "losses">;
  /** Whether the service takes runs. */
  readonly isReady: () => boolean;
  /** Whether Redis answers; null without Redis. */
  readonly isRedisConnected: () => boolean | null;
  /** The keys that the store of the limits has in memory; null if Redis has them. */
  readonly limitKeys: () => number | null;
}

/** The builds of packages, and what is stored of them. */
export interface MeasuredPackages {
  readonly queue: { readonly size: number };
  readonly builds: { readonly duration: Histogram; readonly outcomes: ReadonlyMap<string, number> };
  readonly stored: () => { readonly all: number; readonly count: number };
}

const REASONS: Readonly<Record<RefusalReason, 0>> = {
  ...{ host: 0, mode: 0, claim: 0, port: 0, address: 0, self: 0, limit: 0, over: 0 },
};

/** Returns the metrics to which runs add. @param containers the containers that have metrics of their own */
export function metricsOfRuns(containers: Config["metricsContainers"]): RunMetrics {
  return new RunMetrics({
    outcomes: RUN_STATUSES.filter((status) => status !== "running"),
    starts: GUEST_STARTS,
    codes: Object.keys(PROBLEMS),
    containers,
  });
}

/** Returns all metrics in the text format of Prometheus. */
export function metricsText(service: MeasuredService): Promise<string> {
  return exposition(families(service));
}

function* families(service: MeasuredService): Generator<Family> {
  yield* stateOf(service);
  yield* service.runs.families();
  yield counter(
    "caisson_run_late_errors_total",
    "Errors of tasks after their answer, which no caller has received.",
    service.runCounts.failedUnheard,
  );
  yield* guestsOf(service);
  yield* egressOf(service.egressCounts);
  yield* packagesOf(service.packages);
  yield gauge(
    "caisson_request_body_bytes",
    "Bytes of request bodies in memory: bodies that are read or wait for their runs.",
    service.bodies.bytes,
  );
  yield* recordsOf(service);
  yield histogram(
    "caisson_event_loop_lag_seconds",
    "How late the service runs a timer that is due; everything that the service does waits as long.",
    [[{}, service.lag.histogram]],
  );
  yield* processFamilies();
}

function* stateOf({ version, isolation, isReady, isRedisConnected, limitKeys }: MeasuredService): Generator<Family> {
  const labels = { version, node: process.versions.node, isolation };
  yield gauge("caisson_build_info", "Always 1; the labels describe the service.", [[labels, 1]]);
  yield gauge("caisson_ready", "1 if the service takes runs, otherwise 0.", Number(isReady()));
  const connected = isRedisConnected();
  if (connected !== null) yield gauge("caisson_redis_connected", "1 if Redis answers, otherwise 0.", Number(connected));
  const keys = limitKeys();
  if (keys !== null) yield gauge("caisson_limit_keys", "Containers and tokens whose runs count in memory.", keys);
}

function* guestsOf({ containers, maxSlots, guests, launches, pool }: MeasuredService): Generator<Family> {
  const { spares, starting, waiting } = pool.state;
  yield gauge("caisson_runs_in_flight", "Runs that hold a place in a container.", containers.taken);
  yield gauge("caisson_containers_active", "Containers that have a guest or a run.", containers.activeContainers);
  yield gauge(
    "caisson_guest_slots",
    "Guests that containers hold, out of caisson_guest_slots_limit.",
    containers.slots,
  );
  yield gauge("caisson_guest_slots_limit", "The most guests that containers may hold (--max-containers).", maxSlots);
  yield gauge("caisson_guests_alive", "Guest processes, with spares and with guests that are ending.", guests.size);
  yield gauge("caisson_pool_spares", "Guests that are warm and wait for a container.", spares);
  yield gauge("caisson_pool_starting", "Guests that are being started.", starting);
  yield gauge("caisson_pool_waiting", "Runs that wait for a guest to start.", waiting);
  yield histogram("caisson_guest_launch_seconds", "Time until a new guest was ready.", [[{}, launches.duration]]);
  yield counter("caisson_guest_launch_failures_total", "Guests that could not be started.", launches.failed);
}

function* egressOf({ open, asked, lookups, bytes, refused }: EgressCounts): Generator<Family> {
  yield gauge("caisson_egress_connections", "Connections of tasks that are open or being established.", open);
  yield counter("caisson_egress_connections_total", "Connections of tasks that were not refused at once.", asked);
  yield counter("caisson_egress_lookups_total", "Names that tasks have looked up.", lookups);
  yield counter("caisson_egress_bytes_total", "Bytes that tasks have sent and received.", bytes);
  yield counter(
    "caisson_egress_refusals_total",
    "Connections and lookups that were refused to tasks, by reason.",
    Object.entries({ ...REASONS, ...refused }).map(([reason, count]) => [{ reason }, count]),
  );
}

function* packagesOf({ queue, builds, stored }: MeasuredPackages): Generator<Family> {
  const { all, count } = stored();
  yield gauge("caisson_package_builds_waiting", "Builds of packages that wait or run.", queue.size);
  yield counter(
    "caisson_package_builds_total",
    "Builds of packages, by outcome: built, or the code of the error.",
    [...builds.outcomes].map(([outcome, number]) => [{ outcome }, number]),
  );
  yield histogram("caisson_package_build_seconds", "Time of a build of packages.", [[{}, builds.duration]]);
  yield gauge("caisson_package_sets", "Sets of packages that are built.", count);
  yield gauge("caisson_package_bytes", "Bytes of these sets on the disk (--packages-size).", all);
}

function* recordsOf({ recordStore, usage, audit, drain, log }: MeasuredService): Generator<Family> {
  const history = recordStore.losses;
  const losses = [
    { kind: "history", lost: history.dropped, failure: history.failure },
    { kind: "usage", lost: usage.losses.lost, failure: usage.losses.failure },
    { kind: "audit", lost: audit.losses.lost, failure: audit.losses.failure },
    { kind: "log_drain", lost: drain?.losses.dropped ?? 0, failure: drain?.losses.failure ?? null },
    { kind: "log", lost: log.losses.dropped, failure: log.losses.failure },
  ];
  yield counter(
    "caisson_records_dropped_total",
    "Records and lines of the log that were lost because their writer or reader was too slow or had failed.",
    losses.map(({ kind, lost }) => [{ kind }, lost]),
  );
  yield counter(
    "caisson_records_omitted_total",
    "Records of runs that were left out because a family or a container had used its share.",
    history.omitted,
  );
  yield gauge(
    "caisson_records_failing",
    "1 while the writer of these records fails, otherwise 0.",
    losses.map(({ kind, failure }) => [{ kind }, Number(failure !== null)]),
  );
}
