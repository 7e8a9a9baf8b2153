import { Problem } from "../../errors.ts";
import { checkJson, nameAt, parseJson } from "../../source/json.ts";
import type { McpCall } from "./mcp-call.ts";

/** How many times longer code may be in JSON, because of its escapes. */
const ESCAPE_FACTOR = 4;
/** The most JSON bytes of a message without its code. One turn of the event loop parses and walks them. */
const MAX_OTHER_BYTES = 256 * 2 ** 10;
/** The levels of a message around the data of a run: the message, its params and its arguments. */
const OWN_LEVELS = 3;

/** A message of the protocol. Its memory is held until `release` is called. */
export interface ReceivedMessage {
  readonly message: unknown;
  readonly release: () => void;
}

/** @throws {Problem} `request_invalid` if the body is no JSON, `code_too_large`, `overloaded` */
export async function readMessage({ call, by, config, bodies }: McpCall): Promise<ReceivedMessage> {
  const limitBytes = config.codeLimit * ESCAPE_FACTOR + MAX_OTHER_BYTES;
  const tooLarge = (): Problem => {
    return new Problem("code_too_large", `the body is longer than the limit of ${limitBytes} bytes`);
  };
  const { incoming, outgoing } = call.env;
  const held = await bodies.read(incoming, outgoing, { limitBytes, tooLarge, owner: by.memory });
  outgoing.once("close", held.release);
  const depth = config.jsonDepthLimit + OWN_LEVELS;
  if (held.bytes.length > MAX_OTHER_BYTES) await requireFewOthers(held.bytes, depth, by.family);
  return { message: await parseJson(held.bytes, depth, by.family), release: held.release };
}

/** Rejects a message that would take too long to build and walk, before it is built. Code is one text, which takes no time. */
async function requireFewOthers(body: Buffer, depth: number, holder: string): Promise<void> {
  let others = body.length;
  await checkJson(body, depth, holder, {
    member: (level, name, { start, end }) => {
      if (level === OWN_LEVELS && body[start] === QUOTE && nameAt(body, name) === "code") others -= end - start;
    },
  });
  if (others <= MAX_OTHER_BYTES) return;
  throw new Problem(
    "request_invalid",
    `the message has ${others} bytes in addition to its code; at most ${MAX_OTHER_BYTES} are accepted`,
  );
}

const QUOTE = 0x22;
