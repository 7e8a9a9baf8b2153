import type { Config } from "../config.ts";
import { ContainerManager } from "../containers/container-manager.ts";
import type { Guest } from "../containers/guest/guest.ts";
import { endAll, launchGuest } from "../containers/guest/launch-guest.ts";
import { PackageCaches } from "../containers/guest/package-caches.ts";
import { probeGuests } from "../containers/guest/probe.ts";
import type { TransformText } from "../containers/guest/transform-texts.ts";
import { Pool } from "../containers/pool.ts";
import { Watchdog } from "../containers/watch/watchdog.ts";
import { type Egress, NO_EGRESS } from "../egress/egress.ts";
import type { SandboxOptions } from "../sandbox/local-sandbox.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { refuseOpenWall, testWall } from "../sandbox/self-test/self-test.ts";
import { Launches } from "../telemetry/metrics/launches.ts";
import type { Capacity } from "./capacity.ts";

/** What guests need of the service. */
export interface GuestParts {
  readonly config: Config;
  readonly capacity: Capacity;
  readonly resources: SandboxOptions;
  readonly sandbox: Sandbox;
  readonly egress: Egress;
  readonly transform: TransformText;
}

/** The guests of the service: how they start, which container uses them, and which of them are alive. */
export interface OpenGuests {
  readonly guests: ReadonlySet<Guest>;
  readonly launches: Launches;
  readonly pool: Pool;
  readonly containers: ContainerManager;
  /** The outcome of the self-test, a line for each layer; empty without isolation. */
  readonly checks: Awaited<ReturnType<typeof testWall>>;
}

/**
 * Tests the sandbox, fills the pool, and watches all guests.
 *
 * @param closers closes the guests and what uses them, in the reverse order
 * @throws {Error} if the sandbox fails its test
 */
export async function openGuests(
  { config, capacity, resources, sandbox, egress, transform }: GuestParts,
  closers: AsyncDisposableStack,
): Promise<OpenGuests> {
  const guests = closers.adopt(new Set<Guest>(), endAll);
  const times = { wallMs: config.wallLimit, streamMs: config.streamLimit };
  const guestLimits = { ...times, ...resources };
  const cacheGuest = (): Promise<Guest> => launchGuest(sandbox, guests, guestLimits, NO_EGRESS);
  const caches = closers.adopt(new PackageCaches(cacheGuest), (open) => open.close());
  const helpers = { transform, cacheOf: caches.of.bind(caches) };
  const launches = new Launches();
  const launch = (): Promise<Guest> =>
    launches.measure(() => launchGuest(sandbox, guests, guestLimits, egress, helpers));
  const { level, held, layers } = sandbox.facts;
  const promised = { ...resources, level, held, layers };
  // At isolation level "none" the service promises no isolation, so there is nothing to test.
  const checks =
    level === "none"
      ? []
      : await testWall(probeGuests(sandbox, config.resultLimit), (kind) => sandbox.launch(kind), promised);
  refuseOpenWall(checks);

  const starting = { most: capacity.spares, startsAtOnce: capacity.starts, demandMs: config.poolWindow };
  const pool = closers.adopt(new Pool(launch, config.pool, starting), (open) => open.close());
  const containers = closers.adopt(
    new ContainerManager(pool, {
      ...{ concurrency: config.concurrency, maxContainers: capacity.containers },
      ...{ containerParties: config.containerParties, idleMs: config.idleLimit },
      memoryReserveBytes: config.memoryReserve,
      caps: {
        containers: capacity.containersOfFamily,
        concurrency: config.tokenConcurrency,
        newContainers: config.tokenNewContainers,
      },
    }),
    (open) => open.close(),
  );
  const watchdog = new Watchdog(guests, { ...resources, ...times, blockMs: config.blockLimit, held });
  closers.adopt(watchdog, (open) => open.close());
  pool.fill();
  return { guests, launches, pool, containers, checks };
}
