import type { Config } from "../config.ts";
import { probeGuests } from "../containers/guest/probe.ts";
import { openSandbox } from "../sandbox/open-sandbox.ts";
import { sandboxOptions } from "../sandbox/sandbox-options.ts";
import type { IsolationLevel, Sandbox, SandboxFacts } from "../sandbox/sandbox.ts";
import { type Check, type Layer, LAYERS } from "../sandbox/self-test/check.ts";
import { testWall } from "../sandbox/self-test/self-test.ts";
import type { Finding } from "./finding.ts";

const STATES = ["held", "weak", "open"] as const;

/** Opens the configured level and attacks it, as every start does. */
export async function examineSandbox(config: Config): Promise<{ level: IsolationLevel | null; findings: Finding[] }> {
  const options = sandboxOptions(config);
  let sandbox: Sandbox | null = null;
  try {
    sandbox = await openSandbox(options, () => {});
    const { level, held, layers: layerChecks } = sandbox.facts;
    const promised = { ...options, level, held, layers: layerChecks };
    const checks = await testWall(probeGuests(sandbox, options.resultBytes), promised);
    const checked = new Set(checks.map(({ layer }) => layer));
    const layers = (Object.keys(LAYERS) as Layer[]).filter((layer) => checked.has(layer));
    return { level, findings: [overall(sandbox.facts), ...layers.map((layer) => findingOf(layer, checks, level))] };
  } catch (error) {
    return { level: null, findings: [unopened(error as Error, config)] };
  } finally {
    await sandbox?.close();
  }
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

function unopened({ message }: Error, { isolation }: Config): Finding {
  const remedy = `without it, --isolation ${isolation} has no sandbox, and the service does not start`;
  return { layer: "sandbox", state: "open", proof: message, remedy };
}
