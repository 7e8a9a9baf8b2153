import { randomBytes } from "node:crypto";

/** An event as it is sent, once for each kind of reader. Both are the same object if they do not differ. */
export interface TailEvent {
  readonly count: number;
  /** For readers who may see the code and the input of named tasks. */
  readonly full: Buffer;
  readonly reduced: Buffer;
}

/** The approximate memory of an event in addition to its text. It also bounds the number of events. */
const EVENT_BYTES = 256;
/** Characters that are not line ends in an event stream, but that some clients split lines at. JSON does not escape them. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** The latest events of one container, as text of an event stream (HTML standard, section 9.2). */
export class EventLog {
  /** A random name, so that an id of an earlier log, or of another process, is not taken for one of this log. */
  readonly #name: string = randomBytes(6).toString("hex");
  readonly #events: TailEvent[] = [];
  readonly #mostBytes: number;
  #bytes = 0;
  #count = 0;

  /** @param mostBytes the memory of the events. A longer event is not kept. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The id of the latest event, or of the start. */
  get id(): string {
    return this.#idOf(this.#count);
  }

  /** @param reduced the data for readers who may not see named tasks, if it differs */
  add(name: string, full: object, reduced: object | null = null): TailEvent {
    this.#count += 1;
    const id = this.#idOf(this.#count);
    const bytes = eventBytes(name, full, id);
    const event = { count: this.#count, full: bytes, reduced: reduced ? eventBytes(name, reduced, id) : bytes };
    this.#events.push(event);
    this.#bytes += sizeOf(event);
    while (this.#bytes > this.#mostBytes) this.#bytes -= sizeOf(this.#events.shift()!);
    return event;
  }

  /** Returns the events after that id, or null if some of them are not in memory. */
  after(id: string): readonly TailEvent[] | null {
    const match = /^([0-9a-f]{12})-(\d{1,15})$/.exec(id);
    if (!match || match[1] !== this.#name) return null;
    const seen = Number(match[2]);
    const first = this.#events[0]?.count ?? this.#count + 1;
    return seen > this.#count || seen < first - 1 ? null : this.#events.filter(({ count }) => count > seen);
  }

  #idOf(count: number): string {
    return `${this.#name}-${count}`;
  }
}

/**
 * Returns an event of an event stream. JSON escapes the line ends of the data, so that no text in it can begin another
 * event.
 *
 * @param id the id after which the client continues when it connects again
 */
export function eventBytes(name: string, data: object, id: string | null = null): Buffer {
  const json = JSON.stringify(data).replace(LINE_ENDS, escaped);
  return Buffer.from(`${id === null ? "" : `id: ${id}\n`}event: ${name}\ndata: ${json}\n\n`);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function sizeOf({ full, reduced }: TailEvent): number {
  return EVENT_BYTES + (full === reduced ? full.length : full.length + reduced.length);
}
