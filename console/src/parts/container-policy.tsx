import { useSignal } from "@preact/signals";

import { useAct } from "../act.ts";
import { ago, perWindow } from "../format.ts";
import { labelChanges, labelText } from "../label-text.ts";
import { useLoad } from "../load.ts";
import { client } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { Content } from "./content.tsx";
import { Field } from "./field.tsx";

const WINDOWS = ["second", "minute", "hour", "day", "week", "month"] as const;

/** What an administrator sets for a container: limits, labels, a description, and whether it takes runs. */
export function ContainerPolicy({ container }: { readonly container: string }) {
  const policy = useLoad((signal) => client().containers.get(container, { signal }), [container]);
  const changes = useSignal<Readonly<Record<string, string>>>({});
  const description = useSignal<string | null>(null);
  const labels = useSignal<string | null>(null);
  const act = useAct();
  const save = (event: Event): void => {
    event.preventDefault();
    void act.run(async () => {
      const limits = Object.fromEntries(
        Object.entries(changes.value).map(([window, text]) => [window, text === "" ? null : Number(text)]),
      );
      const patch = {
        limits,
        ...(labels.value !== null && { labels: labelChanges(labels.value, policy.value?.labels ?? {}) }),
        ...(description.value !== null && { description: description.value === "" ? null : description.value }),
      };
      await client().containers.update(container, patch);
      [changes.value, description.value, labels.value] = [{}, null, null];
      policy.reload();
      return "The policy applies from the next run on.";
    });
  };
  const change = (
    work: () => Promise<unknown>,
    title: string,
    destroys: string,
    button: string,
    done: string,
  ): void => {
    void act.run(async () => {
      if (!(await confirm(title, destroys, button))) return null;
      await work();
      policy.reload();
      return done;
    });
  };
  const { containers } = client();
  return (
    <section class="card" aria-label="Policy">
      <h2>Policy</h2>
      <Content of={policy}>
        {(value) => (
          <form class="fields" onSubmit={save}>
            {value.suspended !== null && (
              <p class="notice">Suspended {ago(value.suspended.at)}: every run is refused.</p>
            )}
            <div class="cards">
              {WINDOWS.map((window) => (
                <Field
                  key={window}
                  label={`Runs ${perWindow(window)}`}
                  value={changes.value[window] ?? String(value.limits[window] ?? "")}
                  pattern="[1-9][0-9]*"
                  hint="a whole number"
                  onInput={(text) => (changes.value = { ...changes.value, [window]: text })}
                />
              ))}
            </div>
            <Field
              label="Description"
              value={description.value ?? value.description ?? ""}
              onInput={(text) => (description.value = text)}
            />
            <Field
              label="Labels"
              hint="such as plan=pro, team=web"
              value={labels.value ?? labelText(value.labels)}
              onInput={(text) => (labels.value = text)}
            />
            <div class="actions">
              <button type="submit" class="primary" disabled={act.isBusy}>
                Save policy
              </button>
              {value.suspended === null ? (
                <button
                  type="button"
                  class="danger"
                  onClick={() =>
                    change(
                      () => containers.suspend(container, { now: true }),
                      `Suspend ${container}?`,
                      "Every run is refused until you resume the container. Runs in flight end now.",
                      "Suspend",
                      "The container is suspended.",
                    )
                  }
                >
                  Suspend
                </button>
              ) : (
                <button
                  type="button"
                  onClick={() =>
                    void act.run(async () => {
                      await containers.resume(container);
                      policy.reload();
                      return "The container takes runs again.";
                    })
                  }
                >
                  Resume
                </button>
              )}
              <button
                type="button"
                class="danger"
                onClick={() =>
                  change(
                    () => containers.restart(container),
                    `Restart ${container}?`,
                    "Its guests are replaced, and the state of its modules is lost. Runs in flight finish first.",
                    "Restart",
                    "The next run gets a new guest.",
                  )
                }
              >
                Restart
              </button>
            </div>
          </form>
        )}
      </Content>
      <ActNote of={act} />
    </section>
  );
}
