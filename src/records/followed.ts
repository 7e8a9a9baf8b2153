import { eventBytes, EventLog, type TailEvent } from "./event-log.ts";

/** A client that follows the events of a container. */
export interface TailReader {
  readonly family: string;
  /** Whether it may see the code and the input of named tasks. */
  readonly seesTasks: boolean;
  /** Receives events. The bytes belong to all readers. */
  receive(bytes: Buffer): void;
  /** Called when the service stops. */
  stop(): void;
}

/** The time in which events are collected: runs that print all the time cause at most fifty writes a second to each reader. */
const COLLECT_MS = 20;
/** The most bytes of collected events: stops runs that print more than a fast client can read. */
const MAX_COLLECTED_BYTES = 128 * 2 ** 10;

/** A container with readers, or with events that are kept for readers that connect again. */
export class Followed {
  readonly readers: Set<TailReader> = new Set();
  /** The readers that are admitted, also those that receive nothing yet. */
  places = 0;
  readonly #log: EventLog;
  #collected: TailEvent[] = [];
  #bytes = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param historyBytes the memory of the events that are kept for readers that connect again */
  constructor(historyBytes: number) {
    this.#log = new EventLog(historyBytes);
  }

  /** @param reduced the data for readers who may not see named tasks, if it differs */
  add(name: string, full: object, reduced: object | null = null): void {
    this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS);
    if (this.#bytes < MAX_COLLECTED_BYTES) this.#collect(name, full, reduced);
    else this.#dropped += 1;
  }

  /** Sends the collected events now. */
  flush(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#dropped > 0) this.#collect("lost", { detail: `${this.#dropped} events came too fast` }, null);
    const events = this.#collected;
    this.#collected = [];
    this.#bytes = 0;
    this.#dropped = 0;
    send(events, this.readers);
  }

  /** Adds a reader, and sends it the events after `lastEventId`, or the event `lost` if some of them are not in memory. */
  join(reader: TailReader, lastEventId: string | null): void {
    // The new reader would receive these events twice.
    this.flush();
    this.readers.add(reader);
    const missed = lastEventId === null ? [] : this.#log.after(lastEventId);
    // An id without data is not an event. The client then continues from here even if it has received no event.
    if (!missed?.length) reader.receive(Buffer.from(`id: ${this.#log.id}\n\n`));
    if (missed === null) reader.receive(eventBytes("lost", NOT_IN_MEMORY));
    else send(missed, [reader]);
  }

  #collect(name: string, full: object, reduced: object | null): void {
    const event = this.#log.add(name, full, reduced);
    this.#collected.push(event);
    this.#bytes += event.full.length;
  }
}

const NOT_IN_MEMORY = { detail: "events after Last-Event-ID are not in memory any more; GET /api/runs lists the runs" };

function send(events: readonly TailEvent[], readers: Iterable<TailReader>): void {
  if (events.length === 0) return;
  let full: Buffer | null = null;
  let reduced: Buffer | null = null;
  for (const reader of readers) {
    if (reader.seesTasks) reader.receive((full ??= Buffer.concat(events.map((event) => event.full))));
    else reader.receive((reduced ??= Buffer.concat(events.map((event) => event.reduced))));
  }
}
