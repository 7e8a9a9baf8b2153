import type { Finding } from "../../finding.ts";
import type { IsolationLevel, SandboxFacts } from "../sandbox.ts";
import { type Check, type Layer, LAYERS } from "./check.ts";

const STATES = ["held", "weak", "open"] as const;

/** Returns a line for the sandbox, and one for each layer that was checked, in the order of the report. */
export function sandboxFindings(facts: SandboxFacts, checks: readonly Check[]): Finding[] {
  const checked = new Set(checks.map(({ layer }) => layer));
  const layers = (Object.keys(LAYERS) as Layer[]).filter((layer) => checked.has(layer));
  return [overall(facts), ...layers.map((layer) => findingOf(layer, checks, facts.level))];
}

function overall({ level, mechanisms, fallbackReason, resources }: SandboxFacts): Finding {
  const layer = "sandbox";
  if (level === "none") {
    const proof = "--isolation none has no sandbox; the layers below show what Node's permission flags still refuse";
    return { layer, state: "open", proof, remedy: USE_AUTO };
  }
  const instead = fallbackReason === null ? "" : `, instead of ${fallbackReason}`;
  return {
    layer,
    state: "held",
    proof: `${level} (${mechanisms})${instead}; resources: ${resources}; attacked from inside`,
  };
}

const USE_AUTO = "--isolation auto takes the strongest level that this system supports";

/** Combines the checks of a layer. The worst outcome counts. */
function findingOf(layer: Layer, all: readonly Check[], level: IsolationLevel): Finding {
  const checks = all.filter((check) => check.layer === layer);
  const state = STATES[Math.max(...checks.map(({ outcome }) => STATES.indexOf(outcome)))]!;
  const proof = checks.map(({ tried, found }) => `${tried}: ${found}`).join(", ");
  if (state === "held") return { layer, state, proof };
  return { layer, state, proof, remedy: level === "none" ? USE_AUTO : LAYERS[layer] };
}
