import { Problem } from "../../errors.ts";
import { nextTurn } from "../../next-turn.ts";
import { checkJson, nameAt, parseJson } from "../../source/json.ts";
import type { McpCall } from "./mcp-call.ts";
import { messageBounds } from "./message-bounds.ts";

/** How many times longer code may be in JSON, because of its escapes. */
const ESCAPE_FACTOR = 4;
/** The most JSON bytes of a message without its code. One turn of the event loop parses and walks them. */
const MAX_OTHER_BYTES = 256 * 2 ** 10;
/** The levels of a message around the data of a run: the message, its params and its arguments. */
const OWN_LEVELS = 3;
/** The bytes from which on a message gets its own turn of the event loop. */
const BIG_BYTES = 16 * 2 ** 10;

/** A message of the protocol. Its memory is held until `release` is called. */
export interface ReceivedMessage {
  readonly message: unknown;
  readonly release: () => void;
}

/** @throws {Problem} `request_invalid` if the body is not JSON, `code_too_large`, `overloaded` */
export async function readMessage({ call, by, config, bodies }: McpCall): Promise<ReceivedMessage> {
  const limitBytes = config.codeLimit * ESCAPE_FACTOR + MAX_OTHER_BYTES;
  const tooLarge = (): Problem => {
    return new Problem("code_too_large", `the body is longer than the limit of ${limitBytes} bytes`);
  };
  const { incoming, outgoing } = call.env;
  const held = await bodies.read(incoming, outgoing, { limitBytes, tooLarge, owner: by.memory });
  const { bytes, release } = held;
  // The answer may be closed already, and does not report that again.
  if (outgoing.closed) release();
  else outgoing.once("close", release);
  const depth = config.jsonDepthLimit + OWN_LEVELS;
  // A limit of runs is asked only after the message was read. So messages of all families take turns.
  if (bytes.length > BIG_BYTES) await nextTurn(by.family);
  if (bytes.length > MAX_OTHER_BYTES) await requireFewOthers(bytes, depth, by.family);
  return { message: await parseJson(bytes, depth, by.family, messageBounds(bytes)), release };
}

/** Rejects a message that would take too long to build and walk, before it is built. Code is one text, which takes no time. */
async function requireFewOthers(body: Buffer, depth: number, holder: string): Promise<void> {
  let others = body.length;
  const bounds = messageBounds(body);
  await checkJson(body, depth, holder, {
    ...bounds,
    member: (level, name, span) => {
      bounds.member(level, name, span);
      const isCode = level === OWN_LEVELS && body[span.start] === QUOTE && nameAt(body, name) === "code";
      if (isCode) others -= span.end - span.start;
    },
  });
  if (others <= MAX_OTHER_BYTES) return;
  throw new Problem(
    "request_invalid",
    `the message has ${others} bytes in addition to its code; at most ${MAX_OTHER_BYTES} are accepted`,
  );
}

const QUOTE = 0x22;
