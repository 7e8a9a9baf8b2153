import { isLoopback } from "../../config/read.ts";
import type { Finding } from "../../finding.ts";
import { recordLosses } from "./record-losses.ts";
import type { ApiDependencies } from "./route.ts";

/** Returns what an operator should know or repair of this node, as sentences, the worst first. */
export function systemWarnings(dependencies: ApiDependencies, findings: readonly Finding[]): string[] {
  const { config, isolation, trouble, system } = dependencies;
  const reason = trouble();
  return [
    ...(reason === null ? [] : [`The service takes no runs: ${reason}.`]),
    ...(isolation.level === "none" ? [NO_ISOLATION] : []),
    ...(isolation.fallbackReason === null
      ? []
      : [`The isolation level is ${isolation.level}, instead of ${isolation.fallbackReason}.`]),
    ...findings.filter(({ state, layer }) => state !== "held" && layer !== "sandbox").map(sentence),
    ...Object.entries(recordLosses(dependencies)).map(([kind, lost]) => `Lost of ${kind}: ${JSON.stringify(lost)}.`),
    ...(config.insecureHttp && !isLoopback(config.host) && config.tlsCert === null
      ? ["Tokens travel unencrypted to this service (--insecure-http)."]
      : []),
    ...system.unknownVariables.map(capitalized),
  ];
}

const NO_ISOLATION =
  "Tasks can read this machine and attack each other (--isolation none). Run only code that you have written.";

function sentence({ layer, state, proof, remedy }: Finding): string {
  const fix = remedy === undefined ? `${proof}.` : `Remedy: ${remedy}.`;
  return `${layer}: ${state === "weak" ? "a weaker mechanism is in force" : "not held"}. ${fix}`;
}

function capitalized(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}${text.endsWith("?") ? "" : "."}`;
}
