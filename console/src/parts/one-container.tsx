import { useSignal } from "@preact/signals";

import { useAct } from "../act.ts";
import { ago } from "../format.ts";
import { useLoad } from "../load.ts";
import { linkTo } from "../route.ts";
import { can, client, isAdmin } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { Content } from "./content.tsx";
import { Field } from "./field.tsx";
import { Gauges } from "./gauges.tsx";
import { RunTable } from "./run-table.tsx";

const WINDOWS = ["second", "minute", "hour", "day", "week", "month"] as const;
const EVERY_MS = 5_000;

/** One container: its limits, what may be changed, its latest runs, its tasks and tokens. */
export function OneContainer({ container }: { readonly container: string }) {
  return (
    <>
      <div class="head">
        <h1>{container}</h1>
        <div class="actions">
          {can("run") && <a href={linkTo("playground")}>Run code</a>}
          {can("logs") && <a href={linkTo("errors", [], { container })}>What failed</a>}
          {can("logs") && <a href={linkTo("usage", [], { container })}>What it used</a>}
        </div>
      </div>
      <div class="columns">
        {can("limits") && <Limits container={container} />}
        {isAdmin.value && <Policy container={container} />}
      </div>
      {can("tasks") && <TasksOf container={container} />}
      {can("logs") && <Latest container={container} />}
      {can("issue") && <TokensOf container={container} />}
    </>
  );
}

function Limits({ container }: { readonly container: string }) {
  const state = useLoad(
    (signal) => client().limits.getContainer(container, { detail: true, signal }),
    [container],
    EVERY_MS,
  );
  const act = useAct();
  const reset = (): void => {
    void act.run(async () => {
      const destroys = `All counts of ${container} go to zero, for all tokens. Its limits then admit runs at once.`;
      if (!(await confirm("Reset the counts?", destroys, "Reset"))) return null;
      await client().limits.resetContainer(container);
      state.reload();
      return "The counts were reset.";
    });
  };
  return (
    <section class="card" aria-label="Limits">
      <div class="head">
        <h2>Limits</h2>
        {isAdmin.value && (
          <div class="actions">
            <button type="button" class="danger" onClick={reset}>
              Reset counts
            </button>
          </div>
        )}
      </div>
      <Content of={state}>{(value) => <Gauges state={value} />}</Content>
      <ActNote of={act} />
    </section>
  );
}

function Policy({ container }: { readonly container: string }) {
  const policy = useLoad((signal) => client().containers.get(container, { signal }), [container]);
  const changes = useSignal<Readonly<Record<string, string>>>({});
  const description = useSignal<string | null>(null);
  const act = useAct();
  const save = (event: Event): void => {
    event.preventDefault();
    void act.run(async () => {
      const limits = Object.fromEntries(
        Object.entries(changes.value).map(([window, text]) => [window, text === "" ? null : Number(text)]),
      );
      const patch = {
        limits,
        ...(description.value !== null && { description: description.value === "" ? null : description.value }),
      };
      await client().containers.update(container, patch);
      [changes.value, description.value] = [{}, null];
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
                  label={`Runs a ${window}`}
                  value={changes.value[window] ?? String(value.limits[window] ?? "")}
                  pattern="[1-9][0-9]*"
                  onInput={(text) => (changes.value = { ...changes.value, [window]: text })}
                />
              ))}
            </div>
            <Field
              label="Description"
              value={description.value ?? value.description ?? ""}
              onInput={(text) => (description.value = text)}
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

function TasksOf({ container }: { readonly container: string }) {
  const tasks = useLoad((signal) => client().tasks.list(container, {}, { signal }).page(), [container]);
  return (
    <section class="card" aria-label="Tasks">
      <div class="head">
        <h2>Tasks</h2>
        <div class="actions">
          <a href={linkTo("tasks", [container])}>Open the editor</a>
        </div>
      </div>
      <Content of={tasks}>
        {({ tasks: found }) =>
          found.length === 0 ? (
            <p class="quiet">No named task yet. The playground saves one.</p>
          ) : (
            <ul class="plain">
              {found.map(({ name, version, public: isPublic, changedAt }) => (
                <li key={name}>
                  <a href={linkTo("tasks", [container, name])}>{name}</a> version {version}
                  {isPublic ? ", public" : ""}, <span class="quiet">changed {ago(changedAt)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Content>
    </section>
  );
}

function Latest({ container }: { readonly container: string }) {
  const runs = useLoad(
    (signal) => client().runs.list({ container, limit: 20 }, { signal }).page(),
    [container],
    EVERY_MS,
  );
  return (
    <section class="card" aria-label="Latest runs">
      <div class="head">
        <h2>Latest runs</h2>
        <div class="actions">
          <a href={linkTo("runs", [], { container })}>Full history</a>
          <a href={linkTo("runs", [], { container, live: "1" })}>Live tail</a>
        </div>
      </div>
      <Content of={runs}>
        {({ runs: found }) => (found.length === 0 ? <p class="quiet">No run yet.</p> : <RunTable rows={found} />)}
      </Content>
    </section>
  );
}

function TokensOf({ container }: { readonly container: string }) {
  const tokens = useLoad((signal) => client().tokens.list({ container }, { signal }).page(), [container]);
  return (
    <section class="card" aria-label="Tokens">
      <div class="head">
        <h2>Tokens</h2>
        <div class="actions">
          <a href={linkTo("tokens", [], { container })}>Issue a token</a>
        </div>
      </div>
      <Content of={tokens}>
        {({ tokens: found }) => (
          <ul class="plain">
            {found
              .filter(({ claims, revoked }) => revoked === null && claims.task === null)
              .map(({ jti, claims, runs }) => (
                <li key={jti}>
                  <a class="mono" href={linkTo("tokens", [jti])}>
                    {jti}
                  </a>{" "}
                  {claims.admin ? "administrator" : claims.can.join(", ")} <span class="quiet">{runs} runs</span>
                </li>
              ))}
          </ul>
        )}
      </Content>
    </section>
  );
}
