import assert from "node:assert/strict";
import { it } from "node:test";

import { readEvents, type ServerEvent } from "../../client/src/event-stream.ts";
import { parseEvents } from "../records/event-stream.ts";

const TEXTS: readonly string[] = [
  'id: a-1\nevent: console\ndata: {"text":"näh 😀"}\n\n',
  "data: one\ndata: two\n\n:comment\n\ndata\n\ndata:  space\n\n",
  "event: x\r\ndata: 1\r\n\r\nid: 2\rdata: 3\r\rdata: lost",
  "retry: 5\n\nid: 7\n\ndata: a:b\nunknown: x\n\n",
];

async function eventsOf(text: string, size: number): Promise<ServerEvent[]> {
  const bytes = new TextEncoder().encode(text);
  const events: ServerEvent[] = [];
  const body = new ReadableStream<Uint8Array>({
    start: (to) => {
      for (let at = 0; at < bytes.length; at += size) to.enqueue(bytes.slice(at, at + size));
      to.close();
    },
  });
  for await (const event of readEvents(body)) events.push(event);
  return events;
}

for (const [at, text] of TEXTS.entries()) {
  it(`an event stream is read as the standard requires, in pieces of any size: ${at}`, async () => {
    for (const size of [1, 2, 3, 7, 1_000]) {
      const events = (await eventsOf(text, size)).filter(({ name }) => name !== "");
      const expected = parseEvents(text).map(({ name, data, id }) => [name, data, id]);
      assert.deepEqual(
        events.map(({ name, data, id }) => [name, data, id ?? ""]),
        expected,
        `${size} bytes`,
      );
    }
  });
}

it("the time to connect again and the id of an event without data are read, too", async () => {
  const events = await eventsOf(TEXTS[3]!, 1);
  assert.deepEqual(
    events.map(({ retryMs, id }) => [retryMs, id]),
    [
      [5, null],
      [5, "7"],
      [5, "7"],
    ],
  );
});

it("a long event in small pieces is read in linear time, and an event without end is refused", async () => {
  const [event] = await eventsOf(`data: ${"x".repeat(8 * 2 ** 20)}\n\n`, 1_000);
  assert.equal(event?.data.length, 8 * 2 ** 20);
  const piece = new TextEncoder().encode("x".repeat(2 ** 20));
  const endless = new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(piece) });
  await assert.rejects(readEvents(endless).next(), /^Error: an event has more than \d+ characters$/);
  const line = new TextEncoder().encode(`data: ${"x".repeat(2 ** 20)}\n`);
  const endlessLines = new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(line) });
  await assert.rejects(readEvents(endlessLines).next(), /^Error: an event has more than \d+ characters$/);
});
