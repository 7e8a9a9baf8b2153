import type { IncomingMessage } from "node:http";

import { z } from "zod";

import { Slices } from "../next-turn.ts";
import type { ReceiveEvent } from "../records/tail.ts";
import { foreign } from "./answers/kind.ts";
import { arrivingChunks } from "./arriving-chunks.ts";
import { LineSplitter } from "./line-splitter.ts";
import { parseLine } from "./parse-line.ts";
import type { Reader } from "./reader.ts";

/** The most bytes of a line. A node sends no event that its slowest reader may not leave unread. */
const MAX_LINE_BYTES = 256 * 2 ** 10;
/** The time without a byte after which the stream counts as broken. A node sends a comment each 15 s. */
const SILENT_MS = 45_000;
const MAX_TEXT_CHARS = 20_000;
const TYPE = /^text\/event-stream\b/;
const ID = /^[0-9a-f]{12}-\d{1,15}$/;

/** Containers that are followed on all nodes for the clients of one token family. */
export interface FollowedScope {
  /** Whose rights the other nodes check. */
  readonly reader: Reader;
  has(container: string): boolean;
}

interface Reading {
  readonly receive: ReceiveEvent;
  /** Called once, when the stream is open. */
  readonly begin: () => void;
  /** Receives the id after which a later stream continues. */
  readonly onId: (id: string) => void;
}

/**
 * Reads the events of another node to the end of the stream. They are checked as input of a stranger, because the network in between
 * may not be safe.
 *
 * @throws {Error} if the answer is not what a node sends
 */
export async function readPeerEvents(
  response: IncomingMessage,
  scope: FollowedScope,
  { receive, begin, onId }: Reading,
): Promise<void> {
  try {
    if (response.statusCode !== 200) throw new Error(`it answered with status ${response.statusCode}`);
    if (!TYPE.test(response.headers["content-type"] ?? "")) throw new Error("its answer has another type");
    response.setTimeout(SILENT_MS, () => response.destroy(new Error(`it sent nothing in ${SILENT_MS} ms`)));
    const lines = new LineSplitter(MAX_LINE_BYTES);
    const slices = new Slices(scope.reader.family);
    let isOpen = false;
    let name = "";
    for await (const chunk of arrivingChunks(response)) {
      for (const line of lines.add(chunk)) {
        if (slices.hasEnded) await slices.next();
        const [, field, text] = /^([a-z]*):(?: (.*))?$/s.exec(line) ?? [];
        if (line === "" || field === "" || field === "retry") continue;
        if (field === "event") name = text ?? "";
        else if (field === "id" && ID.test(text ?? "")) {
          onId(text!);
          if (!isOpen) begin();
          isOpen = true;
        } else if (field === "data") {
          if (name === "end") return;
          receiveEvent(name, parseLine(text ?? ""), scope, receive);
        } else throw foreign();
      }
    }
  } finally {
    response.destroy();
  }
}

const consoleEvent = z.strictObject({
  container: z.string(),
  run: z.string().max(64),
  atMs: z.number(),
  level: z.string().max(16),
  text: z.string().max(MAX_TEXT_CHARS),
});
const recordEvent = z.looseObject({ container: z.string(), run: z.string().max(64), status: z.string().max(32) });
const lostEvent = z.strictObject({ detail: z.string().max(1_000) });

function receiveEvent(name: string, data: unknown, scope: FollowedScope, receive: ReceiveEvent): void {
  if (name === "lost") return receive("lost", lostEvent.parse(data));
  if (name !== "console" && name !== "record") throw foreign();
  const event = name === "console" ? consoleEvent.parse(data) : recordEvent.parse(data);
  if (!scope.has(event.container)) throw foreign();
  receive(name, event);
}
