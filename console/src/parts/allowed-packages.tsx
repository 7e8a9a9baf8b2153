import type { Packages } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { useAct } from "../act.ts";
import { client, isAdmin } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { Field } from "./field.tsx";

const POLICIES = {
  none: "Code imports no package of npm (--npm none).",
  listed: "Code imports the packages of this list, and what these depend on (--npm listed).",
  any: "Code imports any package of the registry (--npm any).",
};

interface AllowedPackagesProps {
  readonly packages: Packages;
  readonly onChange: () => void;
}

/** The policy of the operator. An administrator changes the list. */
export function AllowedPackages({ packages: { npm, allow }, onChange }: AllowedPackagesProps) {
  const entry = useSignal("");
  const act = useAct();
  const add = (event: Event): void => {
    event.preventDefault();
    void act.run(async () => {
      const name = entry.value.trim();
      await client().packages.allow(name);
      entry.value = "";
      onChange();
      return `Code may import ${name} from the next run on.`;
    });
  };
  const remove = (name: string): void => {
    void act.run(async () => {
      const destroys = `Runs that import ${name}, and tasks that name it, are refused from now on. What is built stays.`;
      if (!(await confirm(`Remove ${name} from the list?`, destroys, "Remove"))) return null;
      await client().packages.disallow(name);
      onChange();
      return `Code may not import ${name} any more.`;
    });
  };
  return (
    <section class="card" aria-label="What code may import">
      <h2>What code may import</h2>
      <p>{POLICIES[npm]}</p>
      {npm === "listed" && allow.length === 0 && <p class="quiet">The list is empty.</p>}
      <ul class="plain">
        {allow.map(({ package: name, setBy }) => (
          <li key={name} class="actions">
            <strong class="mono">{name}</strong>
            <span class="quiet">{setBy === "setting" ? "by the setting --npm-allow" : "by an administrator"}</span>
            {isAdmin.value && setBy === "administrator" && (
              <button
                type="button"
                class="danger"
                aria-label={`Remove ${name} from the list`}
                onClick={() => remove(name)}
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
      {isAdmin.value && npm === "listed" && (
        <form class="actions" onSubmit={add}>
          <Field
            label="Allow a package"
            hint="such as zod, lodash@4 or @acme/*"
            isRequired
            value={entry.value}
            onInput={(text) => (entry.value = text)}
          />
          <button type="submit" disabled={act.isBusy}>
            Allow
          </button>
        </form>
      )}
      <ActNote of={act} />
    </section>
  );
}
