import type { System } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { Choice } from "./field.tsx";

const BADGES = { held: ["ok", "held"], weak: ["warn", "weaker"], open: ["bad", "not held"] } as const;

/** The lines of `caisson doctor` of each node, the faults first. The layers that are held are shown on request. */
export function SystemChecks({ nodes }: { readonly nodes: System["nodes"] }) {
  const chosen = useSignal("");
  const isAll = useSignal(false);
  const node = nodes.find(({ process }) => process === chosen.value) ?? nodes[0]!;
  const checks = node.checks ?? [];
  const faults = checks.filter(({ state }) => state !== "held");
  const rows = isAll.value ? [...faults, ...checks.filter(({ state }) => state === "held")] : faults;
  return (
    <section class="part" aria-label="Checks of the start">
      <div class="head">
        <h2>Checks of the start</h2>
        <div class="actions">
          {nodes.length > 1 && (
            <Choice
              label="Node"
              value={node.process}
              choices={Object.fromEntries(nodes.map(({ process, name }) => [process, name]))}
              onChange={(process) => (chosen.value = process)}
            />
          )}
          <button type="button" aria-expanded={isAll.value} onClick={() => (isAll.value = !isAll.value)}>
            {isAll.value ? "Only what can be better" : `All ${checks.length} checks`}
          </button>
        </div>
      </div>
      <p class="quiet">
        {node.checks === null
          ? "The node did not answer."
          : `${checks.length - faults.length} of ${checks.length} hold. Each start attacks the sandbox from inside; `}
        {node.checks !== null && (
          <>
            <code>caisson doctor</code> does the same on the machine.
          </>
        )}
      </p>
      {rows.length > 0 && (
        <ul class="checks">
          {rows.map(({ layer, state, proof, remedy }) => (
            <li key={layer}>
              <div class="actions">
                <span class={`badge ${BADGES[state][0]}`}>{BADGES[state][1]}</span>
                <strong>{layer}</strong>
              </div>
              <p class="quiet">{proof}</p>
              {remedy !== null && <p>Remedy: {remedy}</p>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
