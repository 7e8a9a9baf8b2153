import type { NodeSystem } from "../../nodes/answers/system.ts";
import type { ApiDependencies } from "./route.ts";

/** The settings that differ between nodes, because each names the place of one node. A file may be the same at another path. */
const OF_ONE_NODE: ReadonlySet<string> = new Set([
  ...["host", "port", "data", "user", "keys", "secretsKey", "tlsCert", "tlsKey", "nodeUrl", "nodeName"],
  ...["redisPasswordFile", "redisCa", "npmTokenFile", "consolePort", "consoleLogo"],
]);
/** The differences that a warning names. The list of the node has all. */
const MOST_NAMED = 4;

/** The nodes of the service, and the warnings about the others. */
interface SystemNodes {
  readonly nodes: readonly object[];
  readonly warnings: readonly string[];
}

/** @param others the parts of the nodes that answered */
export function systemNodes(
  { system, nodes }: ApiDependencies,
  own: NodeSystem,
  others: readonly NodeSystem[],
): SystemNodes {
  const parts = new Map(others.map((part) => [part.process, part]));
  const flags = new Map(system.settings.map(({ name, flag }) => [name, flag]));
  const warnings: string[] = [];
  const shown = (nodes?.peers ?? []).map(({ process, name = process, url, isAlive }) => {
    const part = isAlive ? (parts.get(process) ?? null) : null;
    const differences = part && differencesOf(own, part, flags);
    if (!isAlive) warnings.push(`The node ${name} is silent.`);
    else if (part === null) warnings.push(silence(name, url));
    else warnings.push(...warningsOf(name, own, part, differences!));
    return { name, process, url, state: isAlive ? "alive" : "silent", ...stateOf(part), differences };
  });
  const self = { ...system.node, url: nodes?.url ?? null, state: "self", ...stateOf(own), differences: [] };
  return { nodes: [self, ...shown], warnings };
}

function stateOf(part: NodeSystem | null): object {
  const { version = null, startedAt = null, isolation = null, checks = null } = part ?? {};
  return { version, startedAt, isolation, checks };
}

interface Difference {
  readonly name: string;
  readonly flag: string;
  readonly value: string | null;
  /** The value on the node that answers. */
  readonly here: string | null;
  readonly setBy: string;
}

/** Returns the settings of a node that have another value than here, or that one of the two does not have. */
function differencesOf(own: NodeSystem, other: NodeSystem, flags: ReadonlyMap<string, string>): Difference[] {
  const here = new Map(own.settings.map(({ name, value }) => [name, value]));
  return other.settings
    .filter(({ name, value }) => flags.has(name) && here.get(name) !== value)
    .map(({ name, value, setBy }) => ({ name, flag: flags.get(name)!, value, here: here.get(name) ?? null, setBy }));
}

function silence(name: string, url: string | null): string {
  return url === null
    ? `The state of the node ${name} is unknown: it announces no --node-url, or has other keys.`
    : `The node ${name} did not answer this one.`;
}

function warningsOf(name: string, own: NodeSystem, other: NodeSystem, differences: readonly Difference[]): string[] {
  const unexpected = differences.filter((each) => !OF_ONE_NODE.has(each.name));
  const named = unexpected
    .slice(0, MOST_NAMED)
    .map(({ flag, value, here }) => `${flag} is ${value ?? "not set"} there, and ${here ?? "not set"} here`);
  const more = unexpected.length > MOST_NAMED ? `; and ${unexpected.length - MOST_NAMED} more` : "";
  return [
    ...(other.version === own.version
      ? []
      : [`The node ${name} has version ${other.version}, this one ${own.version}.`]),
    ...(named.length === 0 ? [] : [`The node ${name} has other settings: ${named.join("; ")}${more}.`]),
    // What both nodes report is not repeated.
    ...other.warnings.filter((each) => !own.warnings.includes(each)).map((each) => `The node ${name}: ${each}`),
  ];
}
