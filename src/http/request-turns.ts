/** The time in one turn of the event loop in which requests begin at once. It is enough for some fifty typical requests. */
const BUDGET_MS = 2;
/** The most waiting requests that begin in one turn. */
const BATCH = 64;

/** No turn of the event loop. */
const NONE = -1;

type Work = () => void;

/**
 * Begins requests in turns of client networks. A request can take milliseconds before any limit counts it, for example to
 * parse its query. If every request began when it arrives, one client with a hundred connections would occupy the only
 * thread, and all others would wait for each of its requests. So requests begin at once only in the first milliseconds of a
 * turn of the event loop. The others wait: networks take turns, and the connections of a network take turns.
 */
export class RequestTurns {
  readonly #now: () => number;
  /** The waiting requests of each network by their connection. The network with the next turn is first. */
  readonly #networks = new Map<string, Map<object, Work[]>>();
  #count = 0;
  /** A turn of the event loop, and when its first request began. */
  #turn = NONE;
  #beganMs = -Infinity;
  #isServing = false;

  /** @param now returns milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Begins a request, now or in a later turn. Requests of one connection begin in their order.
   *
   * @param networkOf returns the network of the client. It is called only if the request waits
   */
  begin(connection: object, networkOf: () => string, work: Work): void {
    if (this.#networks.size === 0 && this.#hasTime()) return work();
    this.#count += 1;
    if (!this.#isServing) {
      this.#isServing = true;
      setImmediate(this.#serve);
    }
    const network = networkOf();
    let connections = this.#networks.get(network);
    if (!connections) this.#networks.set(network, (connections = new Map<object, Work[]>()));
    const line = connections.get(connection);
    if (line) line.push(work);
    else connections.set(connection, [work]);
  }

  /** Whether this turn of the event loop has time left. The first call of a turn begins it. */
  #hasTime(): boolean {
    const now = this.#now();
    // Short turns count as one, so that most requests need not ask for the turn.
    if (now - this.#beganMs < BUDGET_MS) return true;
    const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
    if (turn === this.#turn) return false;
    this.#turn = turn;
    this.#beganMs = now;
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
    if (this.#count > 0 && this.#hasTime()) this.#take()();
  };

  /** Removes the next request, and puts its connection and its network at the end. */
  #take(): Work {
    const [network, connections] = this.#networks.entries().next().value!;
    const [connection, line] = connections.entries().next().value!;
    const work = line.shift()!;
    this.#count -= 1;
    connections.delete(connection);
    if (line.length > 0) connections.set(connection, line);
    this.#networks.delete(network);
    if (connections.size > 0) this.#networks.set(network, connections);
    return work;
  }
}
