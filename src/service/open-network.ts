import type { Config } from "../config.ts";
import { ConnectionShares } from "../egress/connection-shares.ts";
import type { Egress } from "../egress/egress.ts";
import { LocalPorts } from "../egress/local-ports.ts";
import { egressPolicy } from "../egress/policy.ts";
import { ConnectionShare } from "../http/connection-share.ts";
import { Intake } from "../http/intake.ts";
import { Proxies } from "../http/proxies.ts";
import { RequestShare } from "../http/request-share.ts";
import { Sources } from "../source/fetch.ts";
import { egressCounts } from "../telemetry/egress-counts.ts";
import type { Log } from "../telemetry/log.ts";

/** The limits of a fetch: a slow server blocks a slot of its caller's container, and many redirects would hide the source. */
const FETCHING = { connectMs: 2_000, totalMs: 5_000, maxRedirects: 3 };

/** Returns the egress that all guests and `task_url` share. @param ownPorts returns the ports on which the service listens */
export function openEgress(config: Config, maxConnections: number, ownPorts: () => number[]): Egress {
  const { egress: mode, egressAllow: allow, egressPorts: ports } = config;
  const ownPlaces = config.redis?.hosts ?? [];
  return {
    policy: egressPolicy({ mode, allow, ports, ownPorts, ownPlaces }),
    limits: { connections: config.egressConnections, bytes: config.egressBytes, timeMs: config.egressTime },
    connections: new ConnectionShares(maxConnections),
    counts: egressCounts(),
    ports: new LocalPorts(),
  };
}

/** Returns the fetcher of `task_url`. */
export function openSources(config: Config, { policy, ports }: Egress): Sources {
  const { codeLimit: maxBytes, taskUrlLimit: urlMaxLength } = config;
  return new Sources(
    policy,
    { ...FETCHING, maxBytes, urlMaxLength, ports },
    { maxFreshMs: config.taskUrlCacheTime, maxBytes: config.taskUrlCache, maxEntries: config.taskUrlCacheEntries },
  );
}

/** What takes the connections and requests of all clients: of the service, and of the console where it has a separate port. */
interface Entrance {
  readonly proxies: Proxies;
  readonly intake: Intake;
  /** Called for each connection that is refused because of what its network has open or opens. */
  readonly onRefused: (network: string, why: string) => void;
}

/** @param share the most connections, and the most requests at once, of one client network */
export function openIntake({ trustProxy }: Config, share: number, log: Log): Entrance {
  const proxies = new Proxies(trustProxy, (ignored) => log.pino.warn(ignored));
  const onRefused: Entrance["onRefused"] = (...refused) => log.refusedConnection(...refused);
  const connections = new ConnectionShare(share, proxies, onRefused);
  return {
    proxies,
    onRefused,
    intake: new Intake({ proxies, connections, requestShare: new RequestShare(share), onRefused }),
  };
}
