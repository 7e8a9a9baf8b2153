import type { RecordConfig } from "../config/groups/records.ts";
import { Problem } from "../errors.ts";
import type { EndedRun } from "./ended-run.ts";
import { Followed, type TailReader } from "./followed.ts";
import type { ConsoleLine, RunRecord } from "./record.ts";
import { visibleRecord } from "./visible.ts";

/** How long the events of a container are kept for readers that connect again, after the last reader has left. */
const IDLE_MS = 60_000;
/** The most containers without readers whose events are kept, as a share of the readers. Each takes up to `eventHistory` bytes. */
const IDLE_SHARE = 0.25;

/** The most readers, in all and of one family, and the bytes of events that are kept of a container. */
export type TailBounds = Pick<RecordConfig, "eventReaders" | "familyEventReaders" | "eventHistory">;

/** The live events of containers. An event of a container without readers costs one lookup, and is not kept. */
export class Tail {
  readonly #bounds: TailBounds;
  readonly #followed = new Map<string, Followed>();
  readonly #families = new Map<string, number>();
  /** The containers without readers whose events are kept; the first to lose its last reader is first. */
  readonly #idle = new Map<string, { readonly family: string; readonly timer: NodeJS.Timeout }>();
  #readers = 0;
  #isClosed = false;

  constructor(bounds: TailBounds) {
    this.#bounds = bounds;
  }

  printed(container: string, run: string, line: ConsoleLine): void {
    if (this.#followed.size === 0) return;
    const { atMs, level } = line;
    this.#followed.get(container)?.add("console", { run, atMs, level, text: cut(line.text) });
  }

  ended(run: EndedRun): void {
    if (this.#followed.size === 0) return;
    const followed = this.#followed.get(run.container);
    if (!followed) return;
    const { record } = run.kept();
    const hasSecret = record.task !== null && record.error?.at?.frame;
    followed.add("record", withoutLines(record), hasSecret ? withoutLines(visibleRecord(record, false)) : null);
  }

  /**
   * Sends the events of a container to a reader, beginning with those after `lastEventId`. If some of them are not in memory
   * any more, the first event is `lost`.
   *
   * @returns a function that removes the reader; further calls have no effect
   * @throws {Problem} `draining`, `container_busy` if the family has too many readers, `overloaded` if all have
   */
  follow(container: string, reader: TailReader, lastEventId: string | null): () => void {
    this.#admit(reader.family);
    let followed = this.#followed.get(container);
    if (!followed) this.#followed.set(container, (followed = new Followed(this.#bounds.eventHistory)));
    this.#unmarkIdle(container);
    followed.join(reader, lastEventId);
    return () => this.#leave(container, followed, reader);
  }

  /** Ends all streams, and accepts no reader any more. */
  close(): void {
    this.#isClosed = true;
    for (const followed of [...this.#followed.values()]) {
      followed.flush();
      for (const reader of [...followed.readers]) reader.stop();
    }
    for (const container of [...this.#idle.keys()]) this.#forget(container);
  }

  #admit(family: string): void {
    if (this.#isClosed) throw new Problem("draining", "the service is stopping");
    const readers = this.#families.get(family) ?? 0;
    if (readers >= this.#bounds.familyEventReaders) {
      const detail = `the token family reads ${readers} streams of events, which is the maximum`;
      throw new Problem("container_busy", detail, { retryAfterMs: 1_000, hint: "Close a stream first." });
    }
    if (this.#readers >= this.#bounds.eventReaders) {
      const detail = `clients read ${this.#readers} streams of events, which is the maximum`;
      throw new Problem("overloaded", detail, { retryAfterMs: 1_000 });
    }
    this.#readers += 1;
    this.#families.set(family, readers + 1);
  }

  #leave(container: string, { readers }: Followed, reader: TailReader): void {
    if (!readers.delete(reader)) return;
    const { family } = reader;
    this.#readers -= 1;
    const left = this.#families.get(family)! - 1;
    if (left === 0) this.#families.delete(family);
    else this.#families.set(family, left);
    if (readers.size > 0) return;
    if (this.#isClosed) this.#forget(container);
    else this.#markIdle(container, family);
  }

  #markIdle(container: string, family: string): void {
    const idle = [...this.#idle];
    const own = idle.filter(([, each]) => each.family === family);
    if (own.length >= this.#bounds.familyEventReaders * IDLE_SHARE) this.#forget(own[0]![0]);
    else if (idle.length >= this.#bounds.eventReaders * IDLE_SHARE) this.#forget(idle[0]![0]);
    const timer = setTimeout(() => this.#forget(container), IDLE_MS).unref();
    this.#idle.set(container, { family, timer });
  }

  #forget(container: string): void {
    this.#unmarkIdle(container);
    this.#followed.delete(container);
  }

  #unmarkIdle(container: string): void {
    clearTimeout(this.#idle.get(container)?.timer);
    this.#idle.delete(container);
  }
}

/** The most characters of a text in an event. The record has the whole text. */
const MAX_TEXT_CHARS = 16_384;

/**
 * The most characters of all texts of an error together. In an event each may become six bytes, and the event must not fill
 * what a reader may leave unread, also after the other events that are collected with it.
 */
const MAX_ERROR_CHARS = 20_000;

/** Returns a record without its lines, which are separate events, and without its input. */
function withoutLines({ console: _console, input: _input, error, hint, ...rest }: RunRecord): object {
  if (!error) return { ...rest, error, hint };
  let left = MAX_ERROR_CHARS;
  const shortened = (text: string | null): string | null => {
    const shown = text && cut(text, Math.min(MAX_TEXT_CHARS, left));
    left -= shown?.length ?? 0;
    return shown;
  };
  const texts = {
    message: shortened(error.message),
    name: shortened(error.name),
    hint: shortened(error.hint),
    stack: shortened(error.stack),
  };
  return { ...rest, error: { ...error, ...texts }, hint: hint === error.hint ? texts.hint : shortened(hint) };
}

function cut(text: string, most: number = MAX_TEXT_CHARS): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most))}…`;
}
