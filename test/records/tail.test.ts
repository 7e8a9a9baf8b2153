import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TailReader } from "../../src/records/followed.ts";
import type { RunRecord } from "../../src/records/record.ts";
import { type ReceiveEvent, Tail, type TailScope } from "../../src/records/tail.ts";
import { until } from "../contract/until.ts";
import { problemOf } from "../tokens/support.ts";
import { BOUNDS } from "./bounds.ts";
import { lastIdOf, parseEvents, type ReceivedEvent } from "./event-stream.ts";
import { runOf } from "./run-of.ts";

/** A reader that keeps all text. */
class Collector implements TailReader {
  readonly family: string;
  readonly seesTasks: boolean;
  text = "";
  isStopped = false;

  constructor(family: string = "family", seesTasks: boolean = true) {
    this.family = family;
    this.seesTasks = seesTasks;
  }

  receive(bytes: Buffer): void {
    this.text += bytes.toString();
  }

  stop(): void {
    this.isStopped = true;
  }

  get events(): ReceivedEvent[] {
    return parseEvents(this.text);
  }

  async whenReceived(count: number): Promise<ReceivedEvent[]> {
    await until(() => this.events.length >= count, `the reader has ${count} events`);
    return this.events;
  }
}

function print(tail: Tail, text: string, container = "demo", run = "00000000cafe-1"): void {
  tail.printed(container, run, { atMs: 1.5, level: "info", text });
}

function containersOf(events: readonly ReceivedEvent[]): string[] {
  return events.map(({ data }) => (JSON.parse(data) as { container: string }).container);
}

/** All containers with this beginning, for a token of a family. */
function scope(family: string, prefix: string): TailScope {
  return { key: `${family} ${prefix}*`, has: (container) => container.startsWith(prefix) };
}

function textsOf(events: readonly ReceivedEvent[]): string[] {
  return events.map(({ data }) => (JSON.parse(data) as { text: string }).text);
}

describe("the live events of a container", () => {
  it("are short enough for a reader that has read all others, whatever texts an error has", async () => {
    const tail = new Tail(BOUNDS);
    const reader = new Collector();
    tail.follow("demo", reader, null);
    const long = "\u2028".repeat(65_536);
    tail.ended(runOf({ status: "threw", error: { name: long, message: long, hint: long, stack: long } }));
    tail.ended(runOf({ status: "threw", error: { name: "short", hint: "a hint" }, record: { hint: "a hint" } }));
    const [first, second] = (await reader.whenReceived(2)).map(({ data }) => JSON.parse(data) as RunRecord);
    assert.equal(first!.error!.message.length, 16_385);
    assert.ok(Buffer.byteLength(reader.text) < 128 * 2 ** 10, `${Buffer.byteLength(reader.text)} bytes`);
    assert.deepEqual([second!.error!.name, second!.error!.hint, second!.hint], ["short", "a hint", "a hint"]);
  });

  it("reach its readers and no readers of other containers", async () => {
    const tail = new Tail(BOUNDS);
    const [one, two, other] = [new Collector(), new Collector(), new Collector()];
    tail.follow("demo", one, null);
    tail.follow("demo", two, null);
    tail.follow("other", other, null);
    print(tail, "hello");
    const run = runOf({ status: "threw", printed: ["hello"] });
    tail.ended(run);
    tail.ended(runOf({ container: "another" }));
    for (const reader of [one, two]) {
      const [line, record, ...rest] = await reader.whenReceived(2);
      assert.deepEqual([line!.name, record!.name, rest], ["console", "record", []]);
      assert.deepEqual(JSON.parse(line!.data), { run: "00000000cafe-1", atMs: 1.5, level: "info", text: "hello" });
      const { console: _console, ...described } = run.record;
      assert.deepEqual(JSON.parse(record!.data), described);
    }
    assert.deepEqual(other.events, []);
    tail.close();
  });

  it("cannot be forged by a line, whatever characters it has", async () => {
    const tail = new Tail(BOUNDS);
    const reader = new Collector();
    tail.follow("demo", reader, null);
    const forged = 'event: record\ndata: {"run":"00000000cafe-9"}\nid: 7\n\n';
    const texts = [
      ...[forged, forged.replaceAll("\n", "\r"), forged.replaceAll("\n", "\r\n"), `\0${forged}`],
      ...[forged.replaceAll("\n", "\u2028"), forged.replaceAll("\n", "\u2029"), forged.replaceAll("\n", "\u0085")],
      ...["</script><script>alert(1)</script>", "\ud800 a lone surrogate", "\u001b[2J", ": a comment", ""],
    ];
    for (const text of texts) print(tail, text);
    tail.ended(runOf({ status: "threw", error: { name: forged, message: forged, stack: forged } }));
    const events = await reader.whenReceived(texts.length + 1);
    assert.deepEqual(textsOf(events.slice(0, -1)), texts);
    assert.ok(events.slice(0, -1).every(({ name }) => name === "console"));
    assert.equal((JSON.parse(events.at(-1)!.data) as { error: { message: string } }).error.message, forged);
    // Some clients split lines at more characters than the standard names.
    const lines = reader.text.split(/[\p{Cc}\u2028\u2029]/u);
    assert.ok(lines.every((line) => line === "" || /^(?:id|event|data): /.test(line)));
    tail.close();
  });

  it("continue after Last-Event-ID without a gap or a repetition", async () => {
    const tail = new Tail(BOUNDS);
    const first = new Collector();
    const leave = tail.follow("demo", first, null);
    print(tail, "1");
    print(tail, "2");
    await first.whenReceived(2);
    leave();
    leave();
    print(tail, "3");
    print(tail, "4");
    const second = new Collector();
    tail.follow("demo", second, lastIdOf(first.text));
    print(tail, "5");
    assert.deepEqual(textsOf(await second.whenReceived(3)), ["3", "4", "5"]);
    assert.equal(new Set([...first.events, ...second.events].map(({ id }) => id)).size, 5);
    const third = new Collector();
    tail.follow("demo", third, second.events[0]!.id);
    assert.deepEqual(textsOf(await third.whenReceived(2)), ["4", "5"]);
    tail.close();
  });

  it("continue for a reader that has received no event yet", async () => {
    const tail = new Tail(BOUNDS);
    const first = new Collector();
    tail.follow("demo", first, null)();
    print(tail, "1");
    const second = new Collector();
    tail.follow("demo", second, lastIdOf(first.text));
    assert.deepEqual(textsOf(await second.whenReceived(1)), ["1"]);
    tail.close();
  });

  it("begin with the event lost if events after Last-Event-ID are not in memory", async () => {
    const tail = new Tail(BOUNDS);
    const first = new Collector();
    tail.follow("demo", first, null);
    const begin = lastIdOf(first.text);
    for (let line = 0; line < 300; line++) print(tail, String(line));
    const events = await first.whenReceived(300);
    const foreign = new Collector();
    tail.follow("other", foreign, null);
    const ids = [begin, events[10]!.id, lastIdOf(foreign.text), "nonsense", "", `${begin.slice(0, 13)}301`];
    for (const id of ids) {
      const late = new Collector();
      tail.follow("demo", late, id);
      assert.deepEqual(
        late.events.map(({ name }) => name),
        ["lost"],
        id,
      );
      assert.equal(lastIdOf(late.text), events.at(-1)!.id);
    }
    const within = new Collector();
    tail.follow("demo", within, events[150]!.id);
    assert.deepEqual(textsOf(within.events), textsOf(events.slice(151)));
    tail.close();
  });

  it("are counted in the event lost if they come faster than clients read", async () => {
    const tail = new Tail(BOUNDS);
    const reader = new Collector();
    tail.follow("demo", reader, null);
    for (let line = 0; line < 1_000; line++) print(tail, "x".repeat(1_000));
    await until(() => reader.events.some(({ name }) => name === "lost"), "the reader has lost events");
    const lines = reader.events.filter(({ name }) => name === "console").length;
    assert.ok(lines > 100 && lines < 150, `${lines} lines`);
    assert.match(reader.events.at(-1)!.data, new RegExp(`"${1_000 - lines} events came too fast"`));
    print(tail, "later");
    await reader.whenReceived(lines + 2);
    assert.deepEqual(textsOf(reader.events.slice(-1)), ["later"]);
    tail.close();
  });

  it("have texts of a limited length", async () => {
    const tail = new Tail(BOUNDS);
    const reader = new Collector();
    tail.follow("demo", reader, null);
    print(tail, "x".repeat(500_000));
    tail.ended(runOf({ status: "threw", error: { message: "m".repeat(500_000), stack: "s".repeat(500_000) } }));
    await reader.whenReceived(2);
    assert.ok(reader.text.length < 60_000);
    tail.close();
  });

  it("show the code of a named task only to readers with the verb tasks, and its input to none", async () => {
    const tail = new Tail(BOUNDS);
    const [owner, other] = [new Collector("a", true), new Collector("b", false)];
    for (const reader of [owner, other]) tail.follow("demo", reader, null);
    tail.ended(runOf({ status: "threw", task: "mine", input: "the input" }));
    tail.ended(runOf({ status: "threw", error: { at: { file: "f", line: 1, column: 1, frame: "submitted code" } } }));
    for (const [reader, frames] of [
      [owner, ["3 | throw new Error()", "submitted code"]],
      [other, [null, "submitted code"]],
    ] as const) {
      const events = await reader.whenReceived(2);
      const errors = events.map(({ data }) => (JSON.parse(data) as { error: { at: { frame: string } } }).error);
      assert.deepEqual(
        errors.map(({ at }) => at.frame),
        frames,
      );
      assert.ok(!reader.text.includes("the input"));
    }
    const late = new Collector("b", false);
    tail.follow("demo", late, other.events[0]!.id.replace(/\d+$/, "0"));
    assert.deepEqual(late.events, other.events);
    tail.close();
  });

  it("have 32 readers of a family at most, and 512 in all", async () => {
    const tail = new Tail(BOUNDS);
    const leaves = Array.from({ length: 32 }, (_, at) => tail.follow(`c${at}`, new Collector("greedy"), null));
    assert.equal((await problemOf(() => tail.follow("x", new Collector("greedy"), null))).code, "container_busy");
    leaves[0]!();
    leaves[0]!();
    tail.follow("x", new Collector("greedy"), null);
    assert.equal((await problemOf(() => tail.follow("x", new Collector("greedy"), null))).code, "container_busy");
    for (let at = 0; at < 480; at++) tail.follow("x", new Collector(`f${at % 40}`), null);
    assert.equal((await problemOf(() => tail.follow("x", new Collector("late"), null))).code, "overloaded");
    tail.close();
  });

  it("end when the service stops, and no reader is accepted any more", async () => {
    const tail = new Tail(BOUNDS);
    const reader = new Collector();
    tail.follow("demo", reader, null);
    print(tail, "the last line");
    tail.close();
    assert.deepEqual([textsOf(reader.events), reader.isStopped], [["the last line"], true]);
    assert.equal((await problemOf(() => tail.follow("demo", new Collector(), null))).code, "draining");
  });

  it("are kept for eight containers that a family has left, so that it cannot fill the memory", () => {
    const tail = new Tail(BOUNDS);
    const ids = Array.from({ length: 20 }, (_, at) => {
      const reader = new Collector();
      tail.follow(`c${at}`, reader, null)();
      return lastIdOf(reader.text);
    });
    const known = ids.filter((id, at) => {
      const reader = new Collector(`other-${at}`);
      tail.follow(`c${at}`, reader, id);
      return reader.events.length === 0;
    });
    assert.deepEqual(known, ids.slice(-8));
    tail.close();
  });
});

describe("the live events of all containers of a token", () => {
  it("have the container of each line, and are of no other containers", async () => {
    const tail = new Tail(BOUNDS);
    const [shop, all, one] = [new Collector("a"), new Collector("b"), new Collector("b")];
    tail.follow(scope("a", "shop-"), shop, null);
    tail.follow(scope("b", ""), all, null);
    tail.follow("shop-1", one, null);
    print(tail, "first", "shop-1");
    print(tail, "second", "other");
    tail.ended(runOf({ container: "shop-2" }));
    tail.ended(runOf({ container: "another" }));
    assert.deepEqual(containersOf(await all.whenReceived(4)), ["shop-1", "other", "shop-2", "another"]);
    assert.deepEqual(containersOf(shop.events), ["shop-1", "shop-2"]);
    assert.deepEqual(textsOf(one.events), ["first"]);
    tail.close();
  });

  it("show the code of a named task only to readers with the verb tasks", async () => {
    const tail = new Tail(BOUNDS);
    const [owner, other] = [new Collector("a", true), new Collector("a", false)];
    for (const reader of [owner, other]) tail.follow(scope("a", ""), reader, null);
    tail.ended(runOf({ status: "threw", task: "mine" }));
    const frames = await Promise.all(
      [owner, other].map(async (reader) => {
        const [{ data }] = (await reader.whenReceived(1)) as [ReceivedEvent];
        return (JSON.parse(data) as { error: { at: { frame: string } } }).error.at.frame;
      }),
    );
    assert.deepEqual(frames, ["3 | throw new Error()", null]);
    tail.close();
  });

  it("continue after Last-Event-ID", async () => {
    const tail = new Tail(BOUNDS);
    const first = new Collector();
    const leave = tail.follow(scope("family", ""), first, null);
    print(tail, "1", "a");
    await first.whenReceived(1);
    leave();
    print(tail, "2", "b");
    const second = new Collector();
    tail.follow(scope("family", ""), second, lastIdOf(first.text));
    assert.deepEqual(textsOf(await second.whenReceived(1)), ["2"]);
    tail.close();
  });

  it("are also those of other nodes, from before the reader joins until the scope is forgotten", async () => {
    const tail = new Tail(BOUNDS);
    const gate = Promise.withResolvers<void>();
    const missing: string[] = ["the events of the node n3 are missing"];
    const receivers: ReceiveEvent[] = [];
    let closed = 0;
    const all: TailScope = {
      ...scope("family", ""),
      followOthers: (each) => {
        receivers.push(each);
        return { ready: gate.promise, missing, close: () => (closed += 1) };
      },
    };
    const reader = new Collector();
    const place = tail.enter(all, reader);
    let isReady = false;
    void place.ready.then(() => (isReady = true));
    await Promise.resolve();
    assert.equal(isReady, false);
    // Another reader that leaves meanwhile must not end the scope.
    tail.follow(all, new Collector(), null)();
    gate.resolve();
    await place.ready;
    place.join(null);
    receivers[0]!("console", { container: "far", run: "00000000beef-1", atMs: 1, level: "info", text: "from afar" });
    print(tail, "near");
    const [lost, ...lines] = await reader.whenReceived(3);
    assert.deepEqual([lost!.name, JSON.parse(lost!.data)], ["lost", { detail: missing[0] }]);
    assert.deepEqual(textsOf(lines), ["from afar", "near"]);
    // The other nodes are followed once, also for a client that connects again.
    place.leave();
    const again = new Collector();
    receivers[0]!("console", { container: "far", run: "00000000beef-1", atMs: 2, level: "info", text: "meanwhile" });
    missing.pop();
    const leave = tail.follow(all, again, lastIdOf(reader.text));
    assert.deepEqual(textsOf(await again.whenReceived(1)), ["meanwhile"]);
    assert.deepEqual([receivers.length, closed], [1, 0]);
    leave();
    for (let at = 0; at < 4; at++) tail.follow(scope("family", `c${at}`), new Collector(), null);
    assert.deepEqual([receivers.length, closed], [1, 1]);
    tail.close();
  });

  it("end also for a reader that joins after the service has stopped", () => {
    const tail = new Tail(BOUNDS);
    const reader = new Collector();
    const place = tail.enter(scope("family", ""), reader);
    tail.close();
    place.join(null);
    assert.equal(reader.isStopped, true);
  });

  it("are followed by other nodes in scopes of their own, which take no place of clients", async () => {
    const tail = new Tail(BOUNDS);
    const follow = (at: number, isOfNode: boolean): (() => void) =>
      tail.follow({ ...scope("greedy", `${isOfNode} ${at}`), isOfNode }, new Collector("greedy"), null);
    for (const isOfNode of [true, false]) for (let at = 0; at < 4; at++) follow(at, isOfNode);
    assert.equal((await problemOf(() => follow(4, true))).code, "container_busy");
    tail.close();
  });

  it("are written for four sets of containers of a family at most, because each costs the runs of others", async () => {
    const tail = new Tail(BOUNDS);
    const follow = (at: number, family = "greedy"): (() => void) =>
      tail.follow(scope(family, `c${at}`), new Collector(family), null);
    const leaves = [0, 1, 2, 3].map((at) => follow(at));
    assert.equal((await problemOf(() => follow(4))).code, "container_busy");
    // Another reader of the same containers costs nothing more.
    follow(3);
    follow(4, "other");
    // A set without readers makes room.
    leaves[1]!();
    follow(4);
    assert.equal((await problemOf(() => follow(5))).code, "container_busy");
    for (let at = 0; at < 59; at++) follow(0, `f${at}`);
    assert.equal((await problemOf(() => follow(0, "late"))).code, "overloaded");
    tail.close();
  });
});
