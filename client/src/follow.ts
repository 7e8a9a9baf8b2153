import type { RunRecord } from "./api-types.ts";
import { CaissonError } from "./error.ts";
import { readEvents, type ServerEvent } from "./event-stream.ts";
import { wait } from "./retry.ts";
import type { ConsoleLine } from "./stream.ts";
import { segment, type Transport } from "./transport.ts";

/** What happens in containers. `id` is the `lastEventId` with which a later call continues after this event. */
export type ContainerEvent = { readonly id: string | null } & (
  | ({ readonly type: "console"; readonly container: string; readonly run: string } & Readonly<ConsoleLine>)
  | { readonly type: "record"; readonly record: Omit<RunRecord, "console" | "input"> }
  | { readonly type: "lost"; readonly detail: string }
);

export interface FollowOptions {
  /** Ends the iteration with the error `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Called each time the connection is open: runs that begin now are followed. */
  readonly onOpen?: (() => void) | undefined;
  /** Continues after the event with this id. */
  readonly lastEventId?: string | undefined;
  /** `false`: the end of the connection ends the iteration. By default the client connects again. */
  readonly reconnect?: boolean | undefined;
  /** The milliseconds without a byte after which the client connects again; default: 45000. The service sends one each 15 s. */
  readonly silenceMs?: number | undefined;
}

const DEFAULT_SILENCE_MS = 45_000;
/** The wait before the first attempt to connect again, unless the service names another. It doubles with each attempt. */
const RETRY_MS = 2_000;
const MAX_RETRY_MS = 30_000;
/** The shortest wait, even if the service names a shorter one. */
const MIN_RETRY_MS = 250;

/**
 * Returns events as they come, until the caller stops reading.
 *
 * @param container null: of all containers of the token
 */
export async function* followEvents(
  transport: Transport,
  container: string | null,
  { signal, onOpen, lastEventId, reconnect = true, silenceMs = DEFAULT_SILENCE_MS }: FollowOptions,
): AsyncGenerator<ContainerEvent, void, undefined> {
  if (container !== null) segment("container", container);
  let lastId: string | null = lastEventId ?? null;
  let retryMs = RETRY_MS;
  let failures = 0;
  let hasConnected = false;
  for (;;) {
    let waitMs = 0;
    try {
      const headers = lastId === null ? {} : { "last-event-id": lastId };
      // Its own retries would hide how long the client has been away.
      const options = { signal, ...(hasConnected && { retry: { limited: false } }) };
      const response = await (container === null
        ? transport.send("GET /api/events", { headers }, options)
        : transport.send("GET /api/runs/{container}/events", { path: { container }, headers }, options));
      hasConnected = true;
      failures = 0;
      onOpen?.();
      for await (const event of readEvents(response.body!, silenceMs)) {
        lastId = event.id ?? lastId;
        retryMs = Math.max(event.retryMs ?? retryMs, MIN_RETRY_MS);
        if (event.name === "end") throwIfOver(event);
        else if (event.name !== "") yield contentOf(event, lastId, container);
      }
      if (!reconnect) return;
    } catch (thrown) {
      const error = transport.failure(thrown, signal);
      if (!reconnect || !hasConnected || isFinal(error)) throw error;
      waitMs = error.retryAfterMs ?? 0;
    }
    failures += 1;
    await wait(Math.max(waitMs, Math.min(retryMs * 2 ** (failures - 1), MAX_RETRY_MS)), signal);
  }
}

/** @param container the container of all events; null: each event of a line has its own */
function contentOf({ name, data }: ServerEvent, id: string | null, container: string | null): ContainerEvent {
  const content = JSON.parse(data) as object;
  const known = name === "console" && container !== null ? { container } : {};
  return (
    name === "record" ? { type: name, id, record: content } : { type: name, id, ...known, ...content }
  ) as ContainerEvent;
}

/** @throws {CaissonError} if the token has ended. After another end, such as that of one node, the client connects again. */
function throwIfOver({ data }: ServerEvent): void {
  const { code, detail } = JSON.parse(data) as { code: string; detail: string };
  if (code.startsWith("token_")) throw new CaissonError({ code, detail, status: 403 });
}

/** Whether another attempt would fail in the same way. */
function isFinal({ code, status }: CaissonError): boolean {
  return code === "aborted" || (status !== null && status < 500 && status !== 429);
}
