import type { Config } from "../config.ts";
import type { SandboxOptions } from "./local-sandbox.ts";

/** Returns the settings that the sandbox uses. */
export function sandboxOptions(config: Config): SandboxOptions {
  return {
    isolation: config.isolation,
    memoryBytes: config.memoryLimit,
    threads: config.threadLimit,
    cpuCores: config.cpuLimit,
    tmpBytes: config.tmpLimit,
    descriptors: config.descriptorLimit,
    resultBytes: config.resultLimit,
    logs: { bytes: config.logLimit, linesPerSecond: config.logRate },
  };
}
