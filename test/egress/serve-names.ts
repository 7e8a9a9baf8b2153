import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { TestContext } from "node:test";

export const A = 1;
export const AAAA = 28;
const NO_ERROR = 0;
export const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;

/** The answers of a name server by name: addresses as bytes for each record type, or a response code. */
type Answers = Record<string, { code?: number; truncated?: boolean; [A]?: number[][]; [AAAA]?: number[][] }>;

/**
 * Starts a name server on loopback with the part of RFC 1035 that these tests need.
 *
 * @param silence delays its answers until it resolves.
 */
export async function serveNames(
  t: TestContext,
  answers: Answers,
  silence?: Promise<void>,
): Promise<{ address: string; queries: string[] }> {
  const queries: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", async (query, from) => {
    const { name, type, end } = questionOf(query);
    queries.push(`${name} ${type}`);
    await silence;
    const answer = answers[name] ?? { code: NO_SUCH_NAME };
    const records = (type === A ? answer[A] : answer[AAAA]) ?? [];
    const head = Buffer.from([
      query[0]!,
      query[1]!,
      answer.truncated === true ? 0x83 : 0x81,
      0x80 | (answer.code ?? NO_ERROR),
      0,
      1,
      0,
      records.length,
      0,
      0,
      0,
      0,
    ]);
    const body = records.map((bytes) => Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]));
    socket.send(Buffer.concat([head, query.subarray(12, end), ...body]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.after(() => socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, queries };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels = [];
  let at = 12;
  for (; query[at] !== 0; at += 1 + query[at]!) labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!));
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}
