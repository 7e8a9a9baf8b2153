import type { System } from "@caisson/client";
import { useSignal } from "@preact/signals";

const BADGES = { held: ["ok", "held"], weak: ["warn", "weaker"], open: ["bad", "not held"] } as const;

/** The lines of `caisson doctor`, the faults first. The layers that are held are shown on request. */
export function SystemChecks({ checks }: { readonly checks: System["checks"] }) {
  const faults = checks.filter(({ state }) => state !== "held");
  const shown = useSignal(false);
  const rows = shown.value ? [...faults, ...checks.filter(({ state }) => state === "held")] : faults;
  return (
    <section class="part" aria-label="Checks of the start">
      <div class="head">
        <h2>Checks of the start</h2>
        <div class="actions">
          <button type="button" aria-expanded={shown.value} onClick={() => (shown.value = !shown.value)}>
            {shown.value ? "Only what can be better" : `All ${checks.length} checks`}
          </button>
        </div>
      </div>
      <p class="quiet">
        {checks.length - faults.length} of {checks.length} hold. Each start attacks the sandbox from inside;{" "}
        <code>caisson doctor</code> does the same on the machine.
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
