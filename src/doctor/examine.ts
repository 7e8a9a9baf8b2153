import path from "node:path";

import type { Config } from "../config.ts";
import { closeInheritedDescriptors } from "../sandbox/launcher/descriptors.ts";
import type { IsolationLevel } from "../sandbox/sandbox.ts";
import { examineBubblewrap } from "./bubblewrap.ts";
import { examineDataFolder } from "./data-folder.ts";
import { examineEgress } from "./egress.ts";
import type { Finding } from "./finding.ts";
import { examineNode, examinePlatform } from "./machine.ts";
import { examinePort } from "./port.ts";
import { examineRedis } from "./redis.ts";
import { examineRoot } from "./root.ts";
import { examineWall } from "./wall.ts";

export interface Report {
  /** Whether the configured level holds, and nothing else stands in the way of a start. */
  readonly ok: boolean;
  /** The level that was opened, or null when none could be. */
  readonly isolation: IsolationLevel | null;
  readonly findings: readonly Finding[];
}

/**
 * Looks at all that a service with this configuration would stand on, by doing what it would do. It changes nothing, and
 * may run beside a service on the same data folder; started as root, this process gives that up for good.
 */
export async function examine(config: Config): Promise<Report> {
  closeInheritedDescriptors();
  const data = path.resolve(config.data);
  const machine = [examinePlatform(), examineNode()];
  const mayUseBubblewrap = ["auto", "namespaces"].includes(config.isolation);
  const examined = mayUseBubblewrap ? await examineBubblewrap() : [];
  const { level, findings: wall } = await examineWall(config);
  const bubblewrap = level === "confined" ? examined.map(asReplaced) : examined;
  const folder = await examineDataFolder(data, config.keys);
  const place = [await examineEgress(config), folder, ...(await examineRedis(config)), await examinePort(config)];
  // Last: it is done and not only looked at, and all else may need root.
  const root = await examineRoot(config.user, data);
  const findings = [...machine, ...bubblewrap, ...wall, root, ...place];
  return { ok: findings.every(({ state }) => state !== "open"), isolation: level, findings };
}

/** What is missing of a level that another stands in for. */
function asReplaced(finding: Finding): Finding {
  return finding.state === "open" ? { ...finding, state: "weak" } : finding;
}
