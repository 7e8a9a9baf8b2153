import { clientSite } from "../client-site.ts";

/** The time in one turn of the event loop in which requests begin at once. It is enough for some fifty typical requests. */
const BUDGET_MS = 2;
/**
 * The same time in a turn after a connection was accepted. libuv accepts one connection in a turn, and others may wait in the queue of the
 * kernel, behind those of a client that opens many. So the next turn must come soon.
 */
const ACCEPTING_BUDGET_MS = 0.2;
/**
 * While a long queue of connections waits, requests begin only in every fourth turn that accepts one. A single handshake of TLS takes
 * longer than to accept ten connections, and to close those above the rate of their network.
 */
const ACCEPTING_TURNS = 4;
/** The most waiting requests that begin in one turn. */
const BATCH = 64;

/** No turn of the event loop. */
const NONE = -1;

type Work = () => void;

/** What a connection waits for. */
interface Item {
  readonly work: Work;
  /** Whether it is a piece of bytes, which is parsed, and not a request. */
  readonly isPiece: boolean;
}

/** The waiting items of the connections of one network. The connection with the next turn is first. */
type Connections = Map<object, Item[]>;
/** The networks of one site with waiting items. The network with the next turn is first. */
type Networks = Map<string, Connections>;

/**
 * Parses bytes and begins requests in turns of client networks. Both can take milliseconds before any limit counts them, for
 * example to decrypt the bytes or to parse a query. If all of them were taken when they arrive, one client with a hundred
 * connections would occupy the only thread, and all others would wait for each of its requests. So they begin at once only in
 * the first milliseconds of a turn of the event loop. The others wait: sites take turns, in a site its networks, and in a network its
 * connections.
 *
 * A turn of a connection is one piece of bytes and all requests in it. If the next connection had its turn before these
 * requests, each connection would hold parsed requests, which take many times the memory of their bytes.
 */
export class RequestTurns {
  readonly #now: () => number;
  /** The waiting items of each site. The site with the next turn is first. */
  readonly #sites = new Map<string, Networks>();
  #count = 0;
  /** A turn of the event loop, and when its first item began. */
  #turn = NONE;
  #beganMs = -Infinity;
  #isServing = false;
  #budgetMs = BUDGET_MS;
  #hasAccepted = false;
  #othersWait = false;
  /** The turns in a row that have only accepted. */
  #onlyAccepted = 0;

  /** @param now returns milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Called for each accepted connection. @param othersWait whether many others wait to be accepted */
  accepted(othersWait: boolean): void {
    this.#hasAccepted = true;
    this.#othersWait = othersWait;
    this.#budgetMs = ACCEPTING_BUDGET_MS;
  }

  /**
   * Begins a request, now or in a later turn. Requests of one connection begin in their order.
   *
   * @param connection the TCP connection
   * @param networkOf returns the network of the client. It is called only if the request waits
   */
  begin(connection: object, networkOf: () => string, work: Work): void {
    this.#beginOrWait(connection, networkOf, work, false);
  }

  /** Parses a piece of bytes, now or in a later turn, after the waiting requests of its connection. As `begin`. */
  parse(connection: object, networkOf: () => string, work: Work): void {
    this.#beginOrWait(connection, networkOf, work, true);
  }

  #beginOrWait(connection: object, networkOf: () => string, work: Work, isPiece: boolean): void {
    if (this.#sites.size === 0 && this.#hasTime()) return work();
    const item = { work, isPiece };
    this.#count += 1;
    if (!this.#isServing) {
      this.#isServing = true;
      setImmediate(this.#serve);
    }
    const network = networkOf();
    const site = clientSite(network);
    let networks = this.#sites.get(site);
    if (!networks) this.#sites.set(site, (networks = new Map()));
    let connections = networks.get(network);
    if (!connections) networks.set(network, (connections = new Map()));
    const line = connections.get(connection);
    if (line) line.push(item);
    else connections.set(connection, [item]);
  }

  /** Whether this turn of the event loop has time left. The first call of a turn begins it. */
  #hasTime(): boolean {
    const now = this.#now();
    // Short turns count as one, so that most requests need not ask for the turn.
    if (now - this.#beganMs < this.#budgetMs) return true;
    const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
    if (turn === this.#turn) return false;
    this.#turn = turn;
    const hasAccepted = this.#hasAccepted;
    this.#hasAccepted = false;
    if (hasAccepted && this.#othersWait && (this.#onlyAccepted += 1) < ACCEPTING_TURNS) return false;
    this.#onlyAccepted = 0;
    this.#beganMs = now;
    this.#budgetMs = hasAccepted ? ACCEPTING_BUDGET_MS : BUDGET_MS;
    return true;
  }

  readonly #serve = (): void => {
    this.#isServing = this.#count > 0;
    if (!this.#isServing) return;
    this.#turn = NONE;
    this.#beganMs = -Infinity;
    // Each in its own callback, because the promises of a request continue after the callback, and count as its time.
    for (let left = Math.min(this.#count, BATCH); left > 0; left--) setImmediate(this.#beginNext);
    setImmediate(this.#serve);
  };

  readonly #beginNext = (): void => {
    if (this.#count > 0 && this.#hasTime()) this.#take();
  };

  /** Begins the next item, and puts its site and its network at the end. Its connection keeps its place while its requests wait. */
  #take(): void {
    const [site, networks] = this.#sites.entries().next().value!;
    const [network, connections] = networks.entries().next().value!;
    const [connection, line] = connections.entries().next().value!;
    this.#count -= 1;
    // The connection stays where it is meanwhile, so that the requests in a piece wait in its line.
    line.shift()!.work();
    const [next] = line;
    if (next === undefined || next.isPiece) connections.delete(connection);
    if (next?.isPiece === true) connections.set(connection, line);
    networks.delete(network);
    if (connections.size > 0) networks.set(network, connections);
    this.#sites.delete(site);
    if (networks.size > 0) this.#sites.set(site, networks);
  }
}
