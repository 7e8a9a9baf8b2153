import type { Config } from "../config.ts";
import { type AnswerReader, askNode, ConnectionFault } from "./ask-node.ts";
import { HeldBytes } from "./held-bytes.ts";
import { type NodeCredentials, type NodeRequest, SCHEME } from "./node-credential.ts";
import { isReachable, type NodeRegistry, type Peer, type ReachablePeer } from "./node-registry.ts";
import { PeerEvents } from "./peer-events.ts";
import type { Reader } from "./reader.ts";
import { Turns } from "./turns.ts";

/** The time in which a node answers another node. */
const ANSWER_MS = 2_500;
/** How long a node is not asked after a connection to it has failed: a machine that is gone would delay each read. */
const PAUSE_MS = 5_000;
/** The time between two reports about one node. */
const REPORT_MS = 60_000;

/** How many nodes have what an answer is made of, and how many of them have answered. Both count this node. */
export interface NodeCount {
  readonly asked: number;
  readonly answered: number;
}

export interface NodesOptions {
  /** The process of this node. */
  readonly process: string;
  /** The URL at which the other nodes reach this one; null if they cannot. */
  readonly url?: string | null;
  readonly registry: Pick<NodeRegistry, "peers" | "further" | "announce" | "close">;
  readonly credentials: NodeCredentials;
  /** Called when a node does not answer, at most once a minute for each node. For the log of the operator. */
  readonly onSilent?: (url: string, error: Error) => void;
  readonly answerMs?: number;
  /** The milliseconds between two looks for nodes whose events are followed. */
  readonly lookMs?: number;
  readonly bounds: Pick<Config, "waitingReads" | "familyReads" | "readsAtOnce" | "nodeAnswers">;
}

/** The other nodes of the service, and how they are asked for what a client reads. */
export class Nodes {
  readonly process: string;
  readonly url: string | null;
  readonly credentials: NodeCredentials;
  /** The live events of the other nodes. */
  readonly events: PeerEvents;
  readonly #registry: NodesOptions["registry"];
  readonly #onSilent: NonNullable<NodesOptions["onSilent"]>;
  readonly #answerMs: number;
  readonly #turns: Turns;
  readonly #held: HeldBytes;
  /** The nodes that did not answer, by process: until when they are not asked, and when that was reported. */
  readonly #silent = new Map<string, { readonly untilMs: number; readonly reportedMs: number }>();

  constructor(options: NodesOptions) {
    const { process, url = null, registry, credentials, onSilent = () => {}, answerMs = ANSWER_MS, bounds } = options;
    const { lookMs } = options;
    this.#turns = new Turns(bounds);
    this.#held = new HeldBytes(bounds.nodeAnswers);
    this.process = process;
    this.url = url;
    this.credentials = credentials;
    this.#registry = registry;
    this.#onSilent = onSilent;
    this.#answerMs = answerMs;
    this.events = new PeerEvents({
      peers: () => registry.peers,
      credentials,
      onSilent: (peer, error) => this.#note(peer, error),
      ...(lookMs !== undefined && { lookMs }),
    });
  }

  /** The other nodes that were announced in the last ten minutes. */
  get peers(): readonly Peer[] {
    return this.#registry.peers;
  }

  /** The number of nodes beyond those of `peers`. */
  get further(): number {
    return this.#registry.further;
  }

  /** Lets the other nodes ask this one, when it listens. */
  announce(): Promise<void> {
    return this.#registry.announce();
  }

  /** Lets the other nodes ask this one no more. */
  close(): Promise<void> {
    return this.#registry.close();
  }

  /**
   * Asks all other nodes. A node that does not answer in time, or not as it should, is only counted.
   *
   * @param merge receives all answers. Until it resolves, they count against the limits of memory.
   * @throws {Problem} `token_limited`, or the error of `merge`
   */
  async askAll<T>(
    by: Reader,
    request: NodeRequest,
    newReader: () => AnswerReader<T>,
    merge: (answers: readonly T[]) => Promise<void>,
  ): Promise<NodeCount> {
    const { peers, further } = this.#registry;
    const answers: T[] = [];
    const collect = (answer: T | null): void => void (answer !== null && answers.push(answer));
    const silent = await this.#askEach(peers, by, request, newReader, collect, () => merge(answers));
    const asked = 1 + peers.length + further;
    return { asked, answered: asked - further - silent };
  }

  /**
   * Asks for a run, or for something of it: the node that its id names, or all nodes if no node has that name, because the process
   * of a node changes when the node is started again.
   *
   * @returns the first answer, and how many of the nodes that may have the run did not answer
   * @throws {Problem} `token_limited`
   */
  async askFor<T>(
    run: string,
    by: Reader,
    request: NodeRequest,
    newReader: () => AnswerReader<T>,
  ): Promise<{ readonly found: T | null; readonly silent: number }> {
    const process = run.split("-", 1)[0]!;
    if (process === this.process) return { found: null, silent: 0 };
    const { peers, further } = this.#registry;
    const named = peers.filter((peer) => peer.process === process && isReachable(peer));
    let found: T | null = null;
    const asked = named.length > 0 ? named : peers;
    const silent = await this.#askEach(asked, by, request, newReader, (answer) => (found ??= answer));
    return { found, silent: silent + (named.length > 0 ? 0 : further) };
  }

  /** @returns the number of nodes that did not answer. */
  async #askEach<T>(
    peers: readonly Peer[],
    by: Reader,
    request: NodeRequest,
    newReader: () => AnswerReader<T>,
    onAnswer: (answer: T | null) => void,
    whenAll: () => Promise<void> = () => Promise.resolve(),
  ): Promise<number> {
    const reachable = peers.filter((peer) => this.#mayAsk(peer));
    let silent = peers.length - reachable.length;
    if (reachable.length === 0) {
      await whenAll();
      return silent;
    }
    const { family } = by;
    await this.#turns.run(family, async () => {
      const signal = AbortSignal.timeout(this.#answerMs);
      using releases = new DisposableStack();
      const asking = reachable.map(async (peer) => {
        const { reserve, release } = this.#held.begin(family);
        releases.defer(release);
        try {
          const authorization = `${SCHEME} ${await this.credentials.sign(by, peer.process, request)}`;
          const question = { ...request, url: peer.url, authorization, family, reader: newReader(), reserve, signal };
          onAnswer(await askNode(question));
        } catch (error) {
          silent += 1;
          this.#note(peer, error as Error);
        }
      });
      await Promise.all(asking);
      await whenAll();
    });
    return silent;
  }

  #mayAsk(peer: Peer): peer is ReachablePeer {
    return isReachable(peer) && (this.#silent.get(peer.process)?.untilMs ?? 0) <= performance.now();
  }

  #note({ process, url }: ReachablePeer, error: Error): void {
    const nowMs = performance.now();
    let { reportedMs } = this.#silent.get(process) ?? { reportedMs: -Infinity };
    // Not each time, because a client can cause as many answers that are late or too large as it likes.
    if (nowMs - reportedMs >= REPORT_MS) {
      reportedMs = nowMs;
      this.#onSilent(url, error);
    }
    // No client decides whether a node accepts connections. Other faults are of one answer only.
    const untilMs = error instanceof ConnectionFault ? nowMs + PAUSE_MS : 0;
    this.#silent.set(process, { untilMs, reportedMs });
    const known = new Set(this.#registry.peers.map((peer) => peer.process));
    for (const name of this.#silent.keys()) if (!known.has(name)) this.#silent.delete(name);
  }
}
