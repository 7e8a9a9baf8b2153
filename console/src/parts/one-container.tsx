import { useAct } from "../act.ts";
import { ago } from "../format.ts";
import { useLoad } from "../load.ts";
import { linkTo } from "../route.ts";
import { can, client, isAdmin } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { ContainerPolicy } from "./container-policy.tsx";
import { Content } from "./content.tsx";
import { Gauges } from "./gauges.tsx";
import { RunTable } from "./run-table.tsx";

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
        {isAdmin.value && <ContainerPolicy container={container} />}
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
