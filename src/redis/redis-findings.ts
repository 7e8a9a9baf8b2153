import { isIP } from "node:net";

import type { RedisPlace } from "../config/redis-place.ts";
import type { Finding } from "../finding.ts";
import { evictionWarning, type Keeping, persistenceWarning } from "./durability.ts";

/** Returns how safe a Redis is that answers: its connection, its persistence and its memory. */
export function redisFindings(redis: RedisPlace, hasPassword: boolean, keeping: Keeping): Finding[] {
  return [connection(redis, hasPassword), persistence(keeping), memory(keeping)];
}

/** Checks whether an attacker on the network could read or change the shared data, or connect like a node. */
function connection({ hosts, tls }: RedisPlace, hasPassword: boolean): Finding {
  const layer = "Redis connection";
  const proof = `${tls ? "TLS" : "no TLS"}, ${hasPassword ? "with a password" : "no password"}`;
  if (hosts.every(({ host }) => isLoopback(host))) {
    return { layer, state: "held", proof: `${proof}; it does not leave this machine` };
  }
  const remedies = [
    ...(tls ? [] : ["use rediss://, or a network that has only nodes"]),
    ...(hasPassword ? [] : ["set a password: a program that can connect can undo counted runs"]),
  ];
  if (remedies.length === 0) return { layer, state: "held", proof };
  return { layer, state: "weak", proof, remedy: remedies.join("; ") };
}

function persistence(keeping: Keeping): Finding {
  const layer = "Redis persistence";
  const { appendOnly, fsync } = keeping;
  const warning = persistenceWarning(keeping);
  const remedy = "appendonly yes, appendfsync always";
  if (warning !== null) return { layer, state: "weak", proof: warning, remedy };
  if (appendOnly === null)
    return { layer, state: "weak", proof: UNREPORTED, remedy: `make sure that it has ${remedy}` };
  return { layer, state: "held", proof: `appendonly yes${fsync === null ? "" : `, appendfsync ${fsync}`}` };
}

function memory(keeping: Keeping): Finding {
  const layer = "Redis memory";
  const warning = evictionWarning(keeping);
  const remedy = "maxmemory-policy noeviction";
  if (warning !== null) return { layer, state: "weak", proof: warning, remedy };
  if (keeping.eviction === null)
    return { layer, state: "weak", proof: UNREPORTED, remedy: `make sure that it has ${remedy}` };
  return { layer, state: "held", proof: remedy };
}

const UNREPORTED = "this Redis does not report it";

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
