import type { ContainerEvent } from "@caisson/client";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { clock, duration, headOf } from "../format.ts";
import { linkTo } from "../route.ts";
import { client } from "../session.ts";
import { StatusBadge } from "./status-badge.tsx";

/** The events that the tail shows; older ones are dropped. */
const MOST_EVENTS = 500;
/** A run that prints fast sends many events at once. The page draws them together. */
const DRAW_MS = 100;

const ONE = /^\w[\w.@-]*$/;

type Shown = ContainerEvent & { readonly number: number; readonly at: number };

type Filters = Readonly<Record<string, string>>;

/** Lines and ended runs as they come, of a container or of all containers of the token. */
export function RunTail({ filters }: { readonly filters: Filters }) {
  const { container: wanted = "" } = filters;
  // The lists also take a pattern. An event stream is of one container, or of all.
  const container = ONE.test(wanted) ? wanted : "";
  const events = useSignal<readonly Shown[]>([]);
  const state = useSignal("Connecting...");
  useEffect(() => {
    const stop = new AbortController();
    let waiting: Shown[] = [];
    let number = 0;
    const draw = (): void => {
      if (waiting.length === 0 || stop.signal.aborted) return;
      events.value = [...waiting.toReversed(), ...events.value].slice(0, MOST_EVENTS);
      waiting = [];
    };
    const timer = setInterval(draw, DRAW_MS);
    const follow = async (): Promise<void> => {
      const { runs } = client();
      const options = { signal: stop.signal, onOpen: () => (state.value = "Connected. New lines appear here.") };
      try {
        const ofAll = container === "" || (await hasSeveralNodes(stop.signal));
        for await (const event of ofAll ? runs.followAll(options) : runs.follow(container, options)) {
          waiting = [...waiting.slice(1 - MOST_EVENTS), { ...event, number: number++, at: Date.now() }];
        }
      } catch (error) {
        if (!stop.signal.aborted) state.value = (error as Error).message;
      }
    };
    events.value = [];
    state.value = "Connecting...";
    void follow();
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [container]);
  const shown = events.value.filter((event) => isSelected(event, filters));
  return (
    <>
      <p class="quiet" role="status">
        {state.value}
      </p>
      <ol class="console tail" tabIndex={0} aria-label="Live tail">
        {shown.map((event) => (
          <li key={event.number} class={event.type === "console" ? event.level : ""}>
            <TailEvent event={event} isOfOne={container !== ""} />
          </li>
        ))}
      </ol>
    </>
  );
}

/** A stream of one container has the runs of the node that answers. */
async function hasSeveralNodes(signal: AbortSignal): Promise<boolean> {
  const { nodes } = await client().runs.list({ limit: 1 }, { signal }).page();
  return nodes.asked > 1;
}

/** Whether an event passes the filters, as the list applies them. A line has neither a task nor a status. */
function isSelected(event: ContainerEvent, { container = "", task = "", status = "", q = "" }: Filters): boolean {
  if (event.type === "lost") return true;
  const { container: own } = event.type === "console" ? event : event.record;
  if (container.endsWith("*") ? !own.startsWith(container.slice(0, -1)) : container !== "" && own !== container)
    return false;
  if (event.type === "console") return task === "" && status === "" && has(event.text, q);
  const { task: name, status: end, error } = event.record;
  if ((task !== "" && name !== task) || (status !== "" && end !== status)) return false;
  return [name, error?.name, error?.message, error?.code].some((text) => has(text ?? "", q));
}

function has(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

function TailEvent({ event, isOfOne }: { readonly event: Shown; readonly isOfOne: boolean }) {
  if (event.type === "lost") return <pre class="lost">{event.detail}</pre>;
  const { container, run } = event.type === "console" ? event : event.record;
  return (
    <>
      <span class="from">
        <span class="quiet">{clock(event.at)}</span>{" "}
        {!isOfOne && <a href={linkTo("containers", [container])}>{container}</a>}{" "}
        <a class="mono" href={linkTo("runs", [container, run])} title={run}>
          {run.slice(run.indexOf("-") + 1)}
        </a>
      </span>
      {event.type === "console" ? <pre>{event.text}</pre> : <End record={event.record} />}
    </>
  );
}

interface EndProps {
  readonly record: Extract<ContainerEvent, { type: "record" }>["record"];
}

function End({ record: { status, ms, task, error } }: EndProps) {
  return (
    <div class="actions">
      <StatusBadge status={status} />
      {task !== null && <span>{task}</span>}
      {ms?.run != null && <span class="quiet">in {duration(ms.run)}</span>}
      {error !== null && (
        <span class="failure">
          {error.name ?? error.code}: {headOf(error.message)}
          {error.at ? ` (${error.at.file}:${error.at.line})` : ""}
        </span>
      )}
    </div>
  );
}
