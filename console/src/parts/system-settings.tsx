import type { System } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { Choice, Field } from "./field.tsx";

type Settings = System["settings"];

const ORIGINS = { default: "default", flag: "flag", variable: "variable", file: "file of --config" };

interface SystemSettingsProps {
  readonly settings: Settings;
  readonly nodes: System["nodes"];
}

/** The settings in force, each with the other values that it has on other nodes. A reader first sees those that were set. */
export function SystemSettings({ settings, nodes }: SystemSettingsProps) {
  const elsewhere = elsewhereOf(nodes);
  const wanted = useSignal("");
  const which = useSignal("set");
  const words = wanted.value.toLowerCase().split(/\s+/);
  const shown = settings.filter(
    (each) =>
      (wanted.value !== "" || which.value === "all" || each.setBy !== "default" || elsewhere.has(each.name)) &&
      words.every((word) => `${each.flag} ${each.variable} ${each.help} ${each.group}`.toLowerCase().includes(word)),
  );
  const isAll = which.value === "all" && wanted.value === "";
  const groups = isAll ? Map.groupBy(shown, ({ group }) => group) : new Map([["", shown]]);
  return (
    <section class="part" aria-label="Settings in force">
      <h2>Settings in force</h2>
      <div class="filters">
        <Field label="Search all settings" value={wanted.value} onInput={(text) => (wanted.value = text)} />
        <Choice
          label="Show"
          value={which.value}
          choices={{ set: "only changed", all: `all ${settings.length}` }}
          onChange={(value) => (which.value = value)}
        />
      </div>
      {shown.length === 0 && (
        <p class="empty">
          {wanted.value === "" ? "No setting was set: all have their defaults." : "No setting matches."}
        </p>
      )}
      {shown.length > 0 &&
        [...groups].map(([group, own]) => (
          <div key={group} class="part">
            {group !== "" && <h3>{group}</h3>}
            <ul class="checks">
              {own.map((setting) => (
                <OneSetting key={setting.name} setting={setting} elsewhere={elsewhere.get(setting.name) ?? []} />
              ))}
            </ul>
          </div>
        ))}
    </section>
  );
}

interface OtherValue {
  readonly node: string;
  readonly value: string | null;
}

/** Returns the values on other nodes that are not those of the node that answers, by setting. */
function elsewhereOf(nodes: System["nodes"]): ReadonlyMap<string, readonly OtherValue[]> {
  const all = nodes.flatMap(({ name: node, differences }) =>
    (differences ?? []).map(({ name, value }) => ({ name, node, value })),
  );
  return Map.groupBy(all, ({ name }) => name);
}

interface OneSettingProps {
  readonly setting: Settings[number];
  readonly elsewhere: readonly OtherValue[];
}

function OneSetting({ setting, elsewhere }: OneSettingProps) {
  const { flag, variable, value, setBy, default: fallback, help } = setting;
  return (
    <li>
      <div class="actions">
        <code title={variable}>{flag}</code>
        <strong class="mono value">{value ?? "not set"}</strong>
        {setBy !== "default" && <span class="badge">{ORIGINS[setBy]}</span>}
        {setBy !== "default" && <span class="quiet small">default: {fallback ?? "none"}</span>}
        {elsewhere.map(({ node, value: other }) => (
          <span key={node} class="badge warn">
            on {node}: {other ?? "not set"}
          </span>
        ))}
      </div>
      <p class="quiet small">{help}</p>
    </li>
  );
}
