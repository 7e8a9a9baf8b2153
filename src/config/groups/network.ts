import { many, one, type Settings } from "../setting.ts";
import { choice, duration, type HostPort, hostPorts, integer, ports, size } from "../values.ts";

export interface NetworkConfig {
  readonly egress: "none" | "public";
  readonly egressAllow: readonly HostPort[];
  readonly egressPorts: readonly number[];
  readonly egressConnections: number;
  readonly egressBytes: number;
  readonly egressTime: number;
}

export const NETWORK: Settings<NetworkConfig> = {
  egress: one(
    "--egress <policy>",
    "public",
    "destinations of tasks and of task_url: public allows public addresses, none only those of --egress-allow",
    choice("none", "public"),
  ),
  egressAllow: many(
    "--egress-allow <host:port>",
    [],
    "destination that is allowed although its address is private",
    hostPorts,
  ),
  egressPorts: many<readonly number[]>(
    "--egress-ports <ports>",
    [80, 443, 8_080, 8_443],
    "ports of public destinations; stops tasks that send mail or attack databases; default 80,443,8080,8443",
    ports,
  ),
  egressConnections: one(
    "--egress-connections <number>",
    64,
    "connections that one run has open at once; stops a task that floods a destination or takes all descriptors",
    integer(1, 256),
  ),
  egressBytes: one(
    "--egress-bytes <size>",
    256 * 2 ** 20,
    "bytes that one run sends and receives; stops a task that uses up the bandwidth",
    size(1),
  ),
  egressTime: one(
    "--egress-time <duration>",
    300_000,
    "time that one connection lasts; stops a connection that is held open for ever",
    duration(100),
  ),
};
