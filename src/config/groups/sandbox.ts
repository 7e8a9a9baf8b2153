import { one, type Settings } from "../setting.ts";
import { choice, decimal, integer, size } from "../values.ts";

export interface SandboxConfig {
  readonly isolation: "auto" | "namespaces" | "confined" | "none";
  readonly cpuLimit: number;
  readonly memoryLimit: number;
  readonly threadLimit: number;
  readonly tmpLimit: number;
  readonly descriptorLimit: number;
}

export const SANDBOX: Settings<SandboxConfig> = {
  isolation: one(
    "--isolation <level>",
    "auto",
    "wall around tasks: auto takes the strongest level that holds on this machine; with namespaces or confined the service " +
      "starts at that level only; none is for development",
    choice("auto", "namespaces", "confined", "none"),
  ),
  cpuLimit: one("--cpu-limit <cores>", 1, "stops a container that takes all processors", decimal(0.05, 1_024)),
  memoryLimit: one(
    "--memory-limit <size>",
    256 * 2 ** 20,
    "stops a container that takes all memory",
    size(64 * 2 ** 20),
  ),
  threadLimit: one("--thread-limit <number>", 64, "stops a container that takes all threads", integer(16, 4_096)),
  tmpLimit: one("--tmp-limit <size>", 64 * 2 ** 20, "stops a container that fills its temporary disk", size(2 ** 20)),
  descriptorLimit: one(
    "--descriptor-limit <number>",
    128,
    "stops a container that takes all descriptors of the host",
    integer(64, 65_536),
  ),
};
