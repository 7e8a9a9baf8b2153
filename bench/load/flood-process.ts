/** Floods a service from many connections, and prints what it received as a line of JSON (see `flood`). */
import { connect } from "node:net";

import type { Flood, FloodResult } from "./flood.ts";

const { port, token, connections, seconds, container, addresses, body } = JSON.parse(process.argv[2]!) as Flood;
const request = Buffer.from(
  `POST /api/run/${container} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);
/** The time for the answers that are due when the load ends: the deadline of a run and some more. */
const LAST_MS = 35_000;
const RECONNECT_MS = 10;

const times = new Map<number, number[]>();
const endMs = performance.now() + seconds * 1_000;
let lost = 0;
let open = connections;

for (let at = 0; at < connections; at++) call(`127.0.0.${2 + (at % addresses)}`);
setTimeout(finish, seconds * 1_000 + LAST_MS);

/** Sends one request after the other on a connection, and opens the next connection if the service closes it. */
function call(from: string): void {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from, noDelay: true });
  let sentMs = 0;
  let isDone = false;
  let text = "";
  const send = (): void => {
    if (performance.now() >= endMs) {
      isDone = true;
      socket.destroy();
      return done();
    }
    sentMs = performance.now();
    socket.write(request);
  };
  socket.setEncoding("latin1");
  socket.on("connect", send);
  socket.on("data", (chunk: string) => {
    text += chunk;
    const length = lengthOf(text);
    if (length === 0 || text.length < length) return;
    note(Number(text.slice(9, 12)), performance.now() - sentMs);
    const isLast = /\r\nconnection: close\r\n/i.test(text.slice(0, length));
    text = text.slice(length);
    sentMs = 0;
    if (isLast) socket.destroy();
    else send();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    if (isDone) return;
    if (sentMs > 0) lost++;
    if (performance.now() < endMs) setTimeout(call, RECONNECT_MS, from);
    else done();
  });
}

function done(): void {
  if (--open === 0) finish();
}

/** Returns the length of the answer that begins the text; 0 if its head is not complete. */
function lengthOf(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return 0;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head + 2))?.[1];
  if (length === undefined) throw new Error(`an answer has no length: ${text.slice(0, head)}`);
  return head + 4 + Number(length);
}

function note(status: number, ms: number): void {
  const all = times.get(status);
  if (all) all.push(ms);
  else times.set(status, [ms]);
}

function finish(): void {
  const answers = [...times].map(([status, all]) => {
    const sorted = Float64Array.from(all).toSorted();
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
    return { status, count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1) };
  });
  console.log(JSON.stringify({ answers, lost, unanswered: open } satisfies FloodResult));
  process.exit();
}
