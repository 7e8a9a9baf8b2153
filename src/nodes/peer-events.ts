import { setTimeout as pause } from "node:timers/promises";

import type { OtherNodes, ReceiveEvent } from "../records/tail.ts";
import { send } from "./ask-node.ts";
import { type NodeCredentials, SCHEME } from "./node-credential.ts";
import { isReachable, type Peer, type ReachablePeer } from "./node-registry.ts";
import { type FollowedScope, readPeerEvents } from "./peer-event-stream.ts";

const REQUEST = { method: "GET", target: "/api/events" } as const;
/** The time in which a node begins its stream. */
const BEGIN_MS = 2_500;
/** How long a client waits until the nodes have begun their streams. */
const READY_MS = 1_500;
/** The time between two looks for new nodes, and before a stream is begun again. */
const LOOK_MS = 2_000;
/** The most streams of other nodes. Each is a connection here and there, and may hold a line of 256 KiB. */
const MOST_STREAMS = 128;
/** The most streams for one token family. */
const MOST_OF_FAMILY = 32;

export interface PeerEventsOptions {
  /** Returns the other nodes that were announced lately. */
  readonly peers: () => readonly Peer[];
  readonly credentials: Pick<NodeCredentials, "sign">;
  /** Called when a node does not send its events. */
  readonly onSilent: (peer: ReachablePeer, error: Error) => void;
  /** The milliseconds between two looks for new nodes. */
  readonly lookMs?: number;
}

/** Follows the events of the other nodes, so that a client of this one receives the events of all. */
export class PeerEvents {
  readonly #with: PeerEventsOptions;
  readonly #families = new Map<string, number>();
  #streams = 0;

  constructor(options: PeerEventsOptions) {
    this.#with = options;
  }

  /** Follows a scope on the other nodes, also on those that start later, until it is closed. */
  follow(scope: FollowedScope, receive: ReceiveEvent): OtherNodes {
    const stop = new AbortController();
    /** Why events are missing, by the process of their node. */
    const missing = new Map<string, string>();
    const followed = new Map<string, Promise<void>>();
    const followPeer = ({ process, name = process }: Peer): void => {
      const begun = Promise.withResolvers<void>();
      const lose = (reason: string): void => {
        begun.resolve();
        if (missing.has(process) || stop.signal.aborted) return;
        const detail = `the events of the node ${name} are missing: ${reason}`;
        missing.set(process, detail);
        receive("lost", { detail });
      };
      const begin = (): void => {
        begun.resolve();
        missing.delete(process);
      };
      followed.set(process, begun.promise);
      void this.#followPeer(process, { scope, receive, lose, begin, signal: stop.signal }).finally(() => {
        begun.resolve();
        followed.delete(process);
        missing.delete(process);
      });
    };
    const look = (): void => {
      for (const peer of this.#with.peers()) if (peer.isAlive && !followed.has(peer.process)) followPeer(peer);
    };
    look();
    const timer = setInterval(look, this.#lookMs).unref();
    return {
      ready: inTime([...followed.values()]),
      get missing() {
        return [...missing.values()];
      },
      close: () => {
        clearInterval(timer);
        stop.abort();
      },
    };
  }

  get #lookMs(): number {
    return this.#with.lookMs ?? LOOK_MS;
  }

  /** Follows one node until it is gone, or the scope is closed. */
  async #followPeer(process: string, following: Following): Promise<void> {
    const { scope, signal, lose } = following;
    const { family } = scope.reader;
    let lastId: string | null = null;
    const onId = (id: string): void => void (lastId = id);
    while (!signal.aborted) {
      const peer = this.#with.peers().find((each) => each.isAlive && each.process === process);
      if (!peer) return;
      if (!isReachable(peer)) lose("it has no --node-url, or other keys");
      else if (!this.#hold(family)) lose("too many streams of nodes are open");
      else {
        try {
          await this.#read(peer, following, lastId, onId);
        } catch (error) {
          if (signal.aborted) return;
          this.#with.onSilent(peer, error as Error);
          lose("it does not answer");
        } finally {
          this.#release(family);
        }
      }
      await pause(this.#lookMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Reads a stream to its end. */
  async #read(
    peer: ReachablePeer,
    { scope, receive, begin, signal }: Following,
    lastId: string | null,
    onId: (id: string) => void,
  ): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`it sent no head in ${BEGIN_MS} ms`)), BEGIN_MS);
    const authorization = `${SCHEME} ${await this.#with.credentials.sign(scope.reader, peer.process, REQUEST)}`;
    const headers = { Accept: "text/event-stream", ...(lastId !== null && { "Last-Event-ID": lastId }) };
    const request = { ...REQUEST, url: peer.url, authorization, headers };
    try {
      const response = await send({ ...request, signal: AbortSignal.any([signal, late.signal]) });
      clearTimeout(timer);
      await readPeerEvents(response, scope, { receive, begin, onId });
    } finally {
      clearTimeout(timer);
    }
  }

  #hold(family: string): boolean {
    const own = this.#families.get(family) ?? 0;
    if (own >= MOST_OF_FAMILY || this.#streams >= MOST_STREAMS) return false;
    this.#families.set(family, own + 1);
    this.#streams += 1;
    return true;
  }

  #release(family: string): void {
    const left = this.#families.get(family)! - 1;
    if (left === 0) this.#families.delete(family);
    else this.#families.set(family, left);
    this.#streams -= 1;
  }
}

/** Resolves when all have resolved, or when a client has waited for long enough. */
async function inTime(begun: readonly Promise<void>[]): Promise<void> {
  await Promise.race([Promise.all(begun), pause(READY_MS, undefined, { ref: false })]);
}

interface Following {
  readonly scope: FollowedScope;
  readonly receive: ReceiveEvent;
  /** Called when the node does not send its events. */
  readonly lose: (reason: string) => void;
  /** Called when the node sends its events. */
  readonly begin: () => void;
  readonly signal: AbortSignal;
}
