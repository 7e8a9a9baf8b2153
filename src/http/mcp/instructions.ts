import { permitsVerb } from "../../tokens/claims.ts";
import type { McpTarget } from "./mcp-call.ts";

/** Returns the description of the server, which clients show to their model. */
export function instructionsFor({ by: { claims }, container }: McpTarget): string {
  const where = container === null ? "isolated containers: each call names one" : `the isolated container ${container}`;
  const parts = [`Runs JavaScript and TypeScript in ${where}.`];
  if (permitsVerb(claims, "run")) {
    parts.push("If a run fails, read the line that the error shows, correct the code, and run it again.");
    parts.push("If a limit refuses a run, wait for the time that the error names.");
  }
  return parts.join(" ");
}

/** Returns what the runs of a token may connect to, as a sentence. */
export function networkSentence({ by: { claims }, config }: McpTarget): string {
  const { net } = claims;
  const { egress, egressAllow, egressPorts } = config;
  if (net === false || (egress === "none" && egressAllow.length === 0)) return "There is no network.";
  if (Array.isArray(net)) return `The network reaches only ${net.slice(0, MAX_HOSTS).join(", ")}.`;
  if (egress === "none") return "The network reaches only the hosts that the operator allows.";
  return `The network reaches public hosts at the ports ${egressPorts.join(", ")}: fetch works.`;
}

/** The most hosts that a description names: a token may permit hundreds, and models pay for each. */
const MAX_HOSTS = 20;

/** Returns which packages the code of a token may import, as a sentence. */
export function packagesSentence({ by: { claims }, packages }: McpTarget): string {
  const { mode, allow } = packages.permits.policy;
  const { packages: claim } = claims;
  if (mode === "none" || claim === false || (mode === "listed" && allow.length === 0)) return "There are no packages.";
  const list = claim ?? (mode === "listed" ? allow : null);
  const how = 'Name them in packages, such as {"zod": "^4"}, or as npm:zod@4 in the import.';
  if (list === null) return `Packages of npm can be imported. ${how}`;
  const more = list.length > MAX_PACKAGES ? " and others" : "";
  return `Only these packages of npm can be imported: ${list.slice(0, MAX_PACKAGES).join(", ")}${more}. ${how}`;
}

/** The most packages that a description names. */
const MAX_PACKAGES = 40;
