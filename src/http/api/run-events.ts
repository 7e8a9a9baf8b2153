import type { TailScope } from "../../records/tail.ts";
import type { Caller } from "../../tokens/caller.ts";
import { ContainerPatterns } from "../../tokens/container-patterns.ts";
import { containerName } from "../target.ts";
import { EventStream, EventStreams } from "./event-streams.ts";
import { mustRead } from "./may-read.ts";
import {
  type ApiDependencies,
  authenticate,
  beginStream,
  type Call,
  type Handler,
  segment,
  STREAMED,
} from "./route.ts";

/** The index of the container in `/api/runs/{container}/events`. */
const CONTAINER = 3;
const TYPE = "text/event-stream; charset=utf-8";
/** nginx would collect the events of minutes before it sends them. */
const UNBUFFERED = ["X-Accel-Buffering", "no"];

/** The handlers that send events (HTML standard, section 9.2) until the token ends. */
export interface FollowHandlers {
  /** Of `GET /api/runs/{container}/events`. */
  readonly ofContainer: Handler;
  /** Of `GET /api/events`: of all containers of the token. */
  readonly ofAll: Handler;
}

export function followEvents(dependencies: ApiDependencies): FollowHandlers {
  const { records, tokens, config } = dependencies;
  const streams = new EventStreams(tokens.store, tokens.verifier);
  const send = (call: Call, by: Caller, what: string | TailScope): Response => {
    const lastEventId = call.env.incoming.headers["last-event-id"];
    const stream = new EventStream(by, () => beginStream(call, TYPE, UNBUFFERED), config.eventHistory);
    // Refuses the stream before its head is sent.
    const leave = records.tail.follow(what, stream, typeof lastEventId === "string" ? lastEventId : null);
    streams.add(stream, leave);
    return STREAMED;
  };
  return {
    ofContainer: async (call) => {
      const by = await authenticate(call, dependencies);
      const container = containerName(segment(call, CONTAINER));
      mustRead(by, container);
      return send(call, by, container);
    },
    ofAll: async (call) => {
      const by = await authenticate(call, dependencies);
      mustRead(by, null);
      return send(call, by, scopeOf(by));
    },
  };
}

function scopeOf({ claims, family }: Caller): TailScope {
  const patterns = new ContainerPatterns(claims);
  const key = [family, ...(claims.admin ? ["*"] : claims.containers.toSorted())].join(" ");
  return { key, has: (container) => patterns.has(container) };
}
