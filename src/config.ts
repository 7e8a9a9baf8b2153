import { CONSOLE, type ConsoleConfig } from "./config/groups/console.ts";
import { type ContainerConfig, CONTAINERS } from "./config/groups/containers.ts";
import { DATA, type DataConfig } from "./config/groups/data.ts";
import { LISTENING, type ListeningConfig } from "./config/groups/listening.ts";
import { METRICS, type MetricsConfig } from "./config/groups/metrics.ts";
import { NETWORK, type NetworkConfig } from "./config/groups/network.ts";
import { type NodeConfig, NODES } from "./config/groups/nodes.ts";
import { type PackageConfig, PACKAGES } from "./config/groups/packages.ts";
import { type QuotaConfig, QUOTAS } from "./config/groups/quotas.ts";
import { RATE_LIMITS, type RateLimitConfig } from "./config/groups/rate-limits.ts";
import { type RecordConfig, RECORDS } from "./config/groups/records.ts";
import { RUN_LIMITS, type RunLimitConfig } from "./config/groups/run-limits.ts";
import { SANDBOX, type SandboxConfig } from "./config/groups/sandbox.ts";
import { TASK_URL, type TaskUrlConfig } from "./config/groups/task-url.ts";
import type { Setting, Settings } from "./config/setting.ts";

/** Everything that an operator can set. Times are in milliseconds, sizes in bytes. */
export interface Config
  extends
    ListeningConfig,
    DataConfig,
    SandboxConfig,
    RunLimitConfig,
    NetworkConfig,
    TaskUrlConfig,
    PackageConfig,
    ContainerConfig,
    RateLimitConfig,
    QuotaConfig,
    RecordConfig,
    MetricsConfig,
    ConsoleConfig,
    NodeConfig {}

/** The settings by the headings of `--help` and of the settings page, in reading order. */
export const SETTING_GROUPS: Readonly<Record<string, Readonly<Record<string, Setting<unknown>>>>> = {
  "Listening and TLS": LISTENING,
  "Data, keys and users": DATA,
  Sandbox: SANDBOX,
  "Limits of one run": RUN_LIMITS,
  "Network of tasks": NETWORK,
  "Code from a URL": TASK_URL,
  Packages: PACKAGES,
  "Containers and guests": CONTAINERS,
  "Rate limits": RATE_LIMITS,
  "Caps and quotas of tokens": QUOTAS,
  "Records of runs": RECORDS,
  Metrics: METRICS,
  "Web console": CONSOLE,
  "Several nodes": NODES,
};

/** The one table of settings, defaults and limits. Flag, variable and key in the file are made from the names in it. */
export const SETTINGS: Settings<Config> = {
  ...LISTENING,
  ...DATA,
  ...SANDBOX,
  ...RUN_LIMITS,
  ...NETWORK,
  ...TASK_URL,
  ...PACKAGES,
  ...CONTAINERS,
  ...RATE_LIMITS,
  ...QUOTAS,
  ...RECORDS,
  ...METRICS,
  ...CONSOLE,
  ...NODES,
};
