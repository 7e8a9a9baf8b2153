import type { Task } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { useAct } from "../act.ts";
import { counted } from "../format.ts";
import { client } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { Area } from "./field.tsx";

interface TaskSecretsProps {
  readonly task: Task;
  readonly onChange: () => void;
}

/** Sets the secrets of a task. The service never returns them, so this form does not show them. */
export function TaskSecrets({ task: { container, name, secretNames }, onChange }: TaskSecretsProps) {
  const text = useSignal("");
  const act = useAct();
  const names = secretNames ?? [];
  const save = (event: Event): void => {
    event.preventDefault();
    void act.run(async () => {
      const secrets = parse(text.value);
      const destroys = `The new secrets replace all previous ones (${names.join(", ")}), which cannot be read again.`;
      if (names.length > 0 && !(await confirm("Replace the secrets?", destroys, "Replace"))) return null;
      await client().tasks.put(container, name, { secrets });
      text.value = "";
      onChange();
      return `The task has ${counted(Object.keys(secrets).length, "secret")}.`;
    });
  };
  return (
    <section class="card" aria-label="Secrets">
      <h2>Secrets</h2>
      {names.length > 0 && (
        <p>
          The code receives <span class="mono">{names.join(", ")}</span>.
        </p>
      )}
      <p class="quiet">Secrets can be written and never read. A change of the code drops them.</p>
      <form class="fields" onSubmit={save}>
        <Area label="NAME=value, one on each line" value={text.value} onInput={(value) => (text.value = value)} />
        <div class="actions">
          <button type="submit" disabled={act.isBusy || text.value.trim() === ""}>
            {names.length === 0 ? "Set secrets" : "Replace secrets"}
          </button>
        </div>
      </form>
      <ActNote of={act} />
    </section>
  );
}

/** @throws {Error} if a line has no name */
function parse(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([\w.-]+)\s*=(.*)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`"${line.slice(0, 20)}" is not NAME=value`);
      return [name, value!.trim()];
    }),
  );
}
