import path from "node:path";

import type { Config } from "../config.ts";
import { examineEgress } from "../egress/examine-egress.ts";
import type { Finding } from "../finding.ts";
import { closeInheritedDescriptors } from "../sandbox/launcher/descriptors.ts";
import { examineNode, examinePlatform } from "../sandbox/machine.ts";
import type { IsolationLevel } from "../sandbox/sandbox.ts";
import { examineBubblewrap } from "./bubblewrap.ts";
import { examineDataFolder } from "./data-folder.ts";
import { examinePort } from "./port.ts";
import { examineRedis } from "./redis.ts";
import { examineRoot } from "./root.ts";
import { examineSandbox } from "./sandbox.ts";

export interface Report {
  /** Whether the configured level holds, and nothing else prevents a start. */
  readonly ok: boolean;
  /** The level that was opened, or null if no level could be opened. */
  readonly isolation: IsolationLevel | null;
  readonly findings: readonly Finding[];
}

/**
 * Examines everything that a service with this configuration needs, by the same steps as a start. It changes nothing on the
 * machine, and may run while a service uses the same data folder. If this process has root, it gives up root permanently.
 */
export async function examine(config: Config): Promise<Report> {
  closeInheritedDescriptors();
  const data = path.resolve(config.data);
  const machine = [examinePlatform(), examineNode()];
  const mayUseBubblewrap = ["auto", "namespaces"].includes(config.isolation);
  const examined = mayUseBubblewrap ? await examineBubblewrap() : [];
  const { level, findings: sandbox } = await examineSandbox(config);
  const bubblewrap = level === "confined" ? examined.map(asReplaced) : examined;
  const folder = await examineDataFolder(data, config.keys, config.redis !== null);
  const others = [await examineEgress(config), folder, ...(await examineRedis(config)), await examinePort(config)];
  // Last, because it gives up root, which the other examinations may need.
  const root = await examineRoot(config.user, data);
  const findings = [...machine, ...bubblewrap, ...sandbox, root, ...others];
  return { ok: findings.every(({ state }) => state !== "open"), isolation: level, findings };
}

/** Turns an open finding into a weak one, for a level that another level replaces. */
function asReplaced(finding: Finding): Finding {
  return finding.state === "open" ? { ...finding, state: "weak" } : finding;
}
