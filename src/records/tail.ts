import type { RecordConfig } from "../config/groups/records.ts";
import { Problem } from "../errors.ts";
import type { EndedRun } from "./ended-run.ts";
import { eventBytes } from "./event-log.ts";
import { Followed, type TailReader } from "./followed.ts";
import type { ConsoleLine, RunRecord } from "./record.ts";
import { visibleRecord } from "./visible.ts";

/** How long the events of a container are kept for readers that connect again, after the last reader has left. */
const IDLE_MS = 60_000;
/** The most containers without readers whose events are kept, as a share of the readers. Each takes up to `eventHistory` bytes. */
const IDLE_SHARE = 0.25;
/** The most scopes, as a share of the readers: each event of a container is written once for each scope that has it. */
const SCOPE_SHARE = 0.125;

/** All containers of a token, whose events a reader follows at once. */
export interface TailScope {
  /** Equal for equal containers of one token family. It is not the name of a container. */
  readonly key: string;
  /** Whether another node follows it for its own clients. These scopes have a bound of the same size, for themselves. */
  readonly isOfNode?: boolean;
  has(container: string): boolean;
  /** Follows the same containers on the other nodes, if there are any, until the scope is forgotten. */
  readonly followOthers?: ((receive: ReceiveEvent) => OtherNodes) | undefined;
}

/** Receives an event of another node. */
export type ReceiveEvent = (name: "console" | "record" | "lost", data: object) => void;

/** The streams of the other nodes for a scope. */
export interface OtherNodes {
  /** Resolves when each node sends its events, or has failed to do so in time. */
  readonly ready: Promise<void>;
  /** Why events are missing now, a sentence for each node. */
  readonly missing: readonly string[];
  close(): void;
}

/** A reader that is admitted and receives nothing yet. */
export interface TailPlace {
  /** Resolves when runs that begin now are followed on all nodes. */
  readonly ready: Promise<void>;
  /** Sends the events from now on, or those after `lastEventId`. */
  join(lastEventId: string | null): void;
  /** Removes the reader; further calls have no effect. */
  leave(): void;
}

interface OpenScope {
  readonly scope: TailScope;
  readonly family: string;
  readonly others: OtherNodes | null;
}

/** The most readers, in all and of one family, and the bytes of events that are kept of a container. */
export type TailBounds = Pick<RecordConfig, "eventReaders" | "familyEventReaders" | "eventHistory">;

/** The live events of containers. An event of a container without readers costs one lookup, and is not kept. */
export class Tail {
  readonly #bounds: TailBounds;
  /** By container, or by the key of a scope. */
  readonly #followed = new Map<string, Followed>();
  /** The scopes of `#followed`, each with the family of its readers. */
  readonly #scopes = new Map<string, OpenScope>();
  readonly #families = new Map<string, number>();
  /** The keys of `#followed` without readers; the first to lose its last reader is first. */
  readonly #idle = new Map<string, { readonly family: string; readonly timer: NodeJS.Timeout }>();
  #readers = 0;
  #isClosed = false;

  constructor(bounds: TailBounds) {
    this.#bounds = bounds;
  }

  printed(container: string, run: string, line: ConsoleLine): void {
    if (this.#followed.size === 0) return;
    const { atMs, level } = line;
    const printed = { run, atMs, level, text: cut(line.text) };
    this.#followed.get(container)?.add("console", printed);
    for (const scoped of this.#scopesOf(container)) scoped.add("console", { container, ...printed });
  }

  ended(run: EndedRun): void {
    if (this.#followed.size === 0) return;
    const own = this.#followed.get(run.container);
    const followed = [...(own ? [own] : []), ...this.#scopesOf(run.container)];
    if (followed.length === 0) return;
    const { record } = run.kept();
    const hasSecret = record.task !== null && record.error?.at?.frame;
    const full = withoutLines(record);
    const reduced = hasSecret ? withoutLines(visibleRecord(record, false)) : null;
    for (const each of followed) each.add("record", full, reduced);
  }

  /**
   * Sends the events of a container, or of all containers of a scope, to a reader, beginning with those after `lastEventId`. If
   * some of them are not in memory any more, the first event is `lost`.
   *
   * @returns a function that removes the reader; further calls have no effect
   * @throws {Problem} as `enter`
   */
  follow(what: string | TailScope, reader: TailReader, lastEventId: string | null): () => void {
    const place = this.enter(what, reader);
    place.join(lastEventId);
    return () => place.leave();
  }

  /**
   * Admits a reader of a container, or of all containers of a scope.
   *
   * @throws {Problem} `draining`, `container_busy` if the family has too many readers or scopes, `overloaded` if all have
   */
  enter(what: string | TailScope, reader: TailReader): TailPlace {
    const { family } = reader;
    const scope = typeof what === "string" ? null : what;
    const key = typeof what === "string" ? what : what.key;
    const known = this.#followed.get(key);
    if (!known && scope) this.#makeRoom(scope, family);
    this.#admit(family);
    const followed = known ?? this.#open(key, scope, family);
    followed.places += 1;
    this.#unmarkIdle(key);
    const others = this.#scopes.get(key)?.others;
    let hasLeft = false;
    return {
      ready: others?.ready ?? Promise.resolve(),
      join: (lastEventId) => {
        if (this.#isClosed) return reader.stop();
        followed.join(reader, lastEventId);
        for (const detail of others?.missing ?? []) reader.receive(eventBytes("lost", { detail }));
      },
      leave: () => {
        if (hasLeft) return;
        hasLeft = true;
        this.#leave(key, followed, reader);
      },
    };
  }

  /** Ends all streams, and accepts no reader any more. */
  close(): void {
    this.#isClosed = true;
    for (const followed of [...this.#followed.values()]) {
      followed.flush();
      for (const reader of [...followed.readers]) reader.stop();
    }
    for (const key of [...this.#idle.keys()]) this.#forget(key);
  }

  #open(key: string, scope: TailScope | null, family: string): Followed {
    const followed = new Followed(this.#bounds.eventHistory);
    this.#followed.set(key, followed);
    if (scope) {
      const others = scope.followOthers?.((name, data) => followed.add(name, data)) ?? null;
      this.#scopes.set(key, { scope, family, others });
    }
    return followed;
  }

  #scopesOf(container: string): Followed[] {
    const found: Followed[] = [];
    for (const [key, { scope }] of this.#scopes) if (scope.has(container)) found.push(this.#followed.get(key)!);
    return found;
  }

  /** Makes room for a scope: forgets one without readers if there are too many. @throws {Problem} */
  #makeRoom({ isOfNode = false }: TailScope, family: string): void {
    const { familyEventReaders, eventReaders } = this.#bounds;
    const alike = [...this.#scopes].filter(([, { scope }]) => (scope.isOfNode ?? false) === isOfNode);
    const own = alike.filter(([, each]) => each.family === family);
    const hasMost = own.length >= Math.max(1, familyEventReaders * SCOPE_SHARE);
    if (!hasMost && alike.length < Math.max(1, eventReaders * SCOPE_SHARE)) return;
    const idle = (hasMost ? own : alike).map(([key]) => key).find((key) => this.#idle.has(key));
    if (idle !== undefined) return this.#forget(idle);
    if (!hasMost) throw new Problem("overloaded", "too many clients follow all their containers", RETRY);
    const detail = `the token family follows ${own.length} sets of containers, which is the maximum`;
    throw new Problem("container_busy", detail, { ...RETRY, hint: "Close a stream first." });
  }

  #admit(family: string): void {
    if (this.#isClosed) throw new Problem("draining", "the service is stopping");
    const readers = this.#families.get(family) ?? 0;
    if (readers >= this.#bounds.familyEventReaders) {
      const detail = `the token family reads ${readers} streams of events, which is the maximum`;
      throw new Problem("container_busy", detail, { ...RETRY, hint: "Close a stream first." });
    }
    if (this.#readers >= this.#bounds.eventReaders) {
      const detail = `clients read ${this.#readers} streams of events, which is the maximum`;
      throw new Problem("overloaded", detail, RETRY);
    }
    this.#readers += 1;
    this.#families.set(family, readers + 1);
  }

  #leave(key: string, followed: Followed, reader: TailReader): void {
    followed.readers.delete(reader);
    followed.places -= 1;
    const { family } = reader;
    this.#readers -= 1;
    const left = this.#families.get(family)! - 1;
    if (left === 0) this.#families.delete(family);
    else this.#families.set(family, left);
    if (followed.places > 0) return;
    if (this.#isClosed) this.#forget(key);
    else this.#markIdle(key, family);
  }

  #markIdle(key: string, family: string): void {
    const idle = [...this.#idle];
    const own = idle.filter(([, each]) => each.family === family);
    if (own.length >= this.#bounds.familyEventReaders * IDLE_SHARE) this.#forget(own[0]![0]);
    else if (idle.length >= this.#bounds.eventReaders * IDLE_SHARE) this.#forget(idle[0]![0]);
    const timer = setTimeout(() => this.#forget(key), IDLE_MS).unref();
    this.#idle.set(key, { family, timer });
  }

  #forget(key: string): void {
    this.#unmarkIdle(key);
    this.#followed.delete(key);
    this.#scopes.get(key)?.others?.close();
    this.#scopes.delete(key);
  }

  #unmarkIdle(key: string): void {
    clearTimeout(this.#idle.get(key)?.timer);
    this.#idle.delete(key);
  }
}

const RETRY = { retryAfterMs: 1_000 };

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
