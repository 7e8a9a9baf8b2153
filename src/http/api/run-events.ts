import { containerName } from "../target.ts";
import { EventStream, EventStreams } from "./event-streams.ts";
import { mustRead } from "./may-read.ts";
import { type ApiDependencies, authenticate, beginStream, type Handler, segment, STREAMED } from "./route.ts";

/** The index of the container in `/api/runs/{container}/events`. */
const CONTAINER = 3;
const TYPE = "text/event-stream; charset=utf-8";
/** nginx would collect the events of minutes before it sends them. */
const UNBUFFERED = ["X-Accel-Buffering", "no"];

/** Handles `GET /api/runs/{container}/events`: sends events (HTML standard, section 9.2) until the token ends. */
export function followEvents(dependencies: ApiDependencies): Handler {
  const { records, tokens, config } = dependencies;
  const streams = new EventStreams(tokens.store, tokens.verifier);
  return async (call) => {
    const by = await authenticate(call, dependencies);
    const container = containerName(segment(call, CONTAINER));
    mustRead(by, container);
    const lastEventId = call.env.incoming.headers["last-event-id"];
    const stream = new EventStream(by, () => beginStream(call, TYPE, UNBUFFERED), config.eventHistory);
    // Refuses the stream before its head is sent.
    const leave = records.tail.follow(container, stream, typeof lastEventId === "string" ? lastEventId : null);
    streams.add(stream, leave);
    return STREAMED;
  };
}
