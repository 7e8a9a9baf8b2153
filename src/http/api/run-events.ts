import type { Nodes } from "../../nodes/nodes.ts";
import { readerOf } from "../../nodes/reader.ts";
import type { TailScope } from "../../records/tail.ts";
import type { Caller } from "../../tokens/caller.ts";
import { ContainerPatterns } from "../../tokens/container-patterns.ts";
import { containerName } from "../target.ts";
import { EventStream, EventStreams } from "./event-streams.ts";
import { mustRead, seesTasks } from "./may-read.ts";
import { authenticateReading } from "./node-reads.ts";
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
  const { records, tokens, config, nodes } = dependencies;
  const streams = new EventStreams(tokens.store, tokens.verifier);
  const send = async (call: Call, by: Caller, what: string | TailScope): Promise<Response> => {
    const lastEventId = call.env.incoming.headers["last-event-id"];
    const stream = new EventStream(by, () => beginStream(call, TYPE, UNBUFFERED), config.eventHistory);
    // Refuses the stream before its head is sent.
    const place = records.tail.enter(what, stream);
    // The head promises that runs which begin now are followed, also on other nodes.
    await place.ready;
    place.join(typeof lastEventId === "string" ? lastEventId : null);
    streams.add(stream, () => place.leave());
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
      const { by, isOfNode } = await authenticateReading(call, dependencies);
      mustRead(by, null);
      return send(call, by, nodes === null || isOfNode ? scopeOf(by, isOfNode) : scopeOfAll(by, nodes));
    },
  };
}

/** The containers of a token on this node. */
function scopeOf({ claims, family }: Caller, isOfNode: boolean): TailScope {
  const patterns = new ContainerPatterns(claims);
  const names = claims.admin ? ["*"] : claims.containers.toSorted();
  const key = [family, ...(isOfNode ? ["(node)"] : []), ...names].join(" ");
  return { key, isOfNode, has: (container) => patterns.has(container) };
}

/** The containers of a token on all nodes. */
function scopeOfAll(by: Caller, nodes: Nodes): TailScope {
  const { family } = by;
  const own = scopeOf(by, false);
  const has = (container: string): boolean => own.has(container);
  // The stream is for all tokens of the family with these containers. This node ends those that are revoked, and the other nodes
  // end the stream when the topmost token is.
  const reader = { ...readerOf(by, ""), jti: family };
  // Another node sends what this reader may see. So readers who may see more or less are another scope.
  const key = `${own.key} ${seesTasks(by) ? "(tasks)" : "(logs)"}`;
  return { key, has, followOthers: (receive) => nodes.events.follow({ reader, has }, receive) };
}
