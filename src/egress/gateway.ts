import { formatSize } from "../units.ts";
import { textFrame } from "../wire/frames.ts";
import { FROM_GUEST, type NetworkFault, type OpenMessage, TO_GUEST } from "../wire/messages.ts";
import { type Budget, Budgets, type RunsInFlight, userOf } from "./budgets.ts";
import { EgressDenied } from "./denied.ts";
import {
  LINGER_MS,
  MAX_OPENS,
  MAX_STREAMS,
  MAX_UNREAD_BYTES,
  MAX_UNSENT_BYTES,
  MAX_WAITING_BYTES,
} from "./egress-limits.ts";
import type { Egress } from "./egress.ts";
import { denial, failure, RUN_IS_OVER } from "./faults.ts";
import { PORTS_USED } from "./local-ports.ts";
import { Lookups } from "./lookups.ts";
import { parseNumber, parseOpen } from "./parse-requests.ts";
import { Stream, type StreamOwner } from "./peer-stream.ts";
import type { CheckedAddress, EgressPolicy } from "./policy.ts";
import { Refusals } from "./refusals.ts";
import { restrictPolicy, type NetClaim } from "./restrict-policy.ts";

/** The gateway's view of its guest. */
export interface GuestLink {
  readonly runs: RunsInFlight;
  /** The bytes that the guest has not read. */
  readonly waitingBytes: number;
  push(frame: Buffer): void;
  /** Ends the guest, which broke the protocol. */
  break(error: Error): void;
}

/**
 * The network access of one guest. The gateway resolves names, checks every address, and connects to the checked
 * address.
 *
 * A gateway serves one guest, and so one isolation group with one `net` claim. Every received frame is hostile input. A
 * frame that honest code cannot send throws, which ends the guest. A frame that may have crossed with a frame of the
 * service counts as unsolicited. Connections live as long as the guest has runs, and not only as long as their run, for
 * connection pools.
 */
export class Gateway implements StreamOwner {
  readonly #egress: Egress;
  readonly #policy: EgressPolicy;
  readonly #link: GuestLink;
  readonly #budgets: Budgets;
  readonly #refusals: Refusals;
  readonly #lookups: Lookups;
  /** The streams that are open for the guest, by the id that the guest chose. */
  readonly #streams: Map<number, Stream> = new Map();
  /** These streams, and the reset streams that still deliver data of the guest. */
  readonly #held: Set<Stream> = new Set();
  /** The streams with data for the guest, in the order of their turns. */
  readonly #ready: Set<Stream> = new Set();
  #unsentBytes = 0;
  #unreadBytes = 0;
  #closed = false;
  #linger: NodeJS.Timeout | null = null;

  constructor(egress: Egress, claim: NetClaim, link: GuestLink) {
    this.#egress = egress;
    this.#policy = restrictPolicy(egress.policy, claim);
    this.#link = link;
    this.#budgets = new Budgets(link.runs);
    this.#refusals = new Refusals(egress.counts);
    this.#lookups = new Lookups({
      policy: this.#policy,
      budgets: this.#budgets,
      refusals: this.#refusals,
      counts: egress.counts,
      answer: (id, message) => this.push(textFrame(TO_GUEST.answer, id, JSON.stringify(message))),
    });
  }

  /**
   * Receives a frame of the guest, with a type from `open` to `lookup`, or `sender`.
   *
   * @returns false if the frame is unsolicited.
   * @throws {Error} if it breaks the protocol.
   */
  receive(type: number, id: number, payload: Buffer): boolean {
    if (type === FROM_GUEST.open) return this.#open(id, payload);
    if (type === FROM_GUEST.lookup) return this.#lookups.begin(id, payload);
    const stream = this.#streams.get(id);
    if (!stream) return false;
    switch (type) {
      case FROM_GUEST.sent:
        stream.sent(payload);
        return true;
      case FROM_GUEST.receiveMore:
        stream.receiveMore(parseNumber(payload));
        return true;
      case FROM_GUEST.sender:
        stream.payer = this.#budgets.of(parseNumber(payload)) ?? stream.payer;
        return true;
      case FROM_GUEST.ended:
        stream.end();
        return true;
      default:
        this.#streams.delete(id);
        stream.reset();
        return true;
    }
  }

  /** Whether the guest has neither a connection nor a lookup. */
  get isIdle(): boolean {
    return this.#streams.size === 0 && this.#lookups.isIdle;
  }

  /** Called when the guest has read everything that was sent to it. */
  drained(): void {
    this.#unreadBytes = 0;
    this.#pump();
  }

  /** Called when a run is no longer in flight. */
  runEnded(run: number, family: string): void {
    this.#budgets.end(run, family);
    if (this.#held.size === 0 || this.#link.runs.size > 0) return;
    clearTimeout(this.#linger ?? undefined);
    this.#linger = setTimeout(() => this.#closeUnused(), LINGER_MS).unref();
  }

  /** Closes all connections after the end of the guest. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#linger ?? undefined);
    for (const stream of this.#held) stream.destroy();
  }

  push(frame: Buffer): void {
    if (this.#closed) return;
    if (this.#link.waitingBytes === 0) this.#unreadBytes = 0;
    this.#unreadBytes += frame.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES) return this.#link.break(new Error("the guest does not read its answers"));
    this.#link.push(frame);
  }

  pushData(frame: Buffer): void {
    if (!this.#closed) this.#link.push(frame);
  }

  ready(stream: Stream): void {
    this.#ready.add(stream);
    this.#pump();
  }

  charge(stream: Stream, bytes: number, direction: "bytesSent" | "bytesReceived"): NetworkFault | null {
    stream.payer = this.#budgets.payer(stream.payer, direction);
    stream.payer.bytes += bytes;
    stream.payer.use[direction] += bytes;
    this.#egress.counts.bytes += bytes;
    const limit = this.#egress.limits.bytes * stream.payer.runs;
    if (stream.payer.bytes <= limit) return null;
    this.#refusals.add(stream.payer, stream.attempt, "limit");
    return denial(
      stream.attempt,
      `${userOf(stream.payer)} sent and received ${formatSize(limit)}, the maximum (--egress-bytes)`,
    );
  }

  hold(stream: Stream, bytes: number): NetworkFault | null {
    if (this.#unsentBytes + bytes > MAX_UNSENT_BYTES) {
      this.#refusals.add(stream.payer, stream.attempt, "limit");
      return denial(stream.attempt, `${formatSize(MAX_UNSENT_BYTES)} of data wait for servers that do not read`);
    }
    this.#unsentBytes += bytes;
    return null;
  }

  gone(stream: Stream): void {
    if (!this.#held.delete(stream)) return;
    this.#ready.delete(stream);
    if (this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id);
    stream.opener.open--;
    this.#egress.connections.remove(stream.opener.family);
    this.#egress.counts.open--;
  }

  #open(id: number, payload: Buffer): boolean {
    if (this.#streams.has(id)) throw new Error("the stream is already open");
    const { run, message } = parseOpen(payload);
    const budget = this.#budgets.of(run);
    const refusal = budget === null ? RUN_IS_OVER : this.#whyNotOpen(budget);
    if (budget === null || refusal !== null) {
      this.#refusals.add(budget, message, budget === null ? "over" : "limit");
      this.push(textFrame(TO_GUEST.peerReset, id, JSON.stringify(denial(message, refusal!))));
      // Honest code reaches a limit occasionally. Repeated attempts count as unsolicited frames.
      return false;
    }
    const stream = new Stream(id, message, budget, this.#egress.limits.timeMs, this);
    budget.opens++;
    budget.use.connections++;
    budget.open++;
    this.#egress.connections.add(budget.family);
    this.#egress.counts.asked++;
    this.#egress.counts.open++;
    this.#streams.set(id, stream);
    this.#held.add(stream);
    stream.begin();
    void this.#dial(stream, message);
    return true;
  }

  #whyNotOpen(budget: Budget): string | null {
    const { limits, connections } = this.#egress;
    const { runs } = budget;
    if (budget.opens >= runs * MAX_OPENS)
      return `${userOf(budget)} requested ${runs * MAX_OPENS} connections, the maximum`;
    if (budget.open >= runs * limits.connections) {
      return `${userOf(budget)} ${budget.open} open connections, the maximum (--egress-connections)`;
    }
    if (budget.bytes > runs * limits.bytes) {
      return `${userOf(budget)} sent and received ${formatSize(runs * limits.bytes)}, the maximum (--egress-bytes)`;
    }
    if (this.#held.size >= MAX_STREAMS && !this.#makeRoom()) {
      return `the runs of the container have ${MAX_STREAMS} open connections, the maximum`;
    }
    const full = connections.whyFull(budget.family);
    return full === null || this.#makeRoom() ? null : full;
  }

  /** Closes the oldest connection whose run has ended and that no other run has used. */
  #makeRoom(): boolean {
    for (const stream of this.#held) {
      if (!stream.payer.over) continue;
      stream.fail(UNUSED_CONNECTION);
      return true;
    }
    return false;
  }

  async #dial(stream: Stream, message: OpenMessage): Promise<void> {
    try {
      const inside = this.#egress.inside?.(message.host, message.port) ?? null;
      if (inside) return stream.join(inside);
      const addresses = await this.#resolve(message, stream);
      const hold = this.#egress.ports.take(stream.opener.family, addresses, message.port);
      if (hold === null) throw new EgressDenied(message.host, "limit", PORTS_USED);
      stream.dial(hold, message.port);
    } catch (error) {
      if (error instanceof EgressDenied) this.#refusals.add(stream.opener, message, error.reason);
      stream.fail(failure(error, message));
    }
  }

  #resolve({ host, port, address }: OpenMessage, { opener, abandoned }: Stream): Promise<CheckedAddress[]> {
    const asker = { family: opener.family, signal: abandoned };
    if (address === undefined) return this.#policy.resolve(host, port, null, asker);
    if (this.#lookups.gave(host, address)) return this.#policy.resolve(host, port, [address]);
    return this.#policy.resolve(address, port);
  }

  /** Sends waiting data to the guest, one frame of each stream in turn, until the guest falls behind. */
  #pump(): void {
    // A stream that is added during the loop gets its next turn at the end.
    for (const stream of this.#ready) {
      if (this.#closed || this.#link.waitingBytes >= MAX_WAITING_BYTES) return;
      this.#ready.delete(stream);
      if (stream.sendOne()) this.#ready.add(stream);
    }
  }

  #closeUnused(): void {
    if (this.#link.runs.size > 0) return;
    for (const stream of this.#held) stream.fail(UNUSED_CONNECTION);
  }
}

const UNUSED_CONNECTION: NetworkFault = {
  message: "read ECONNRESET: no run uses the connection",
  code: "ECONNRESET",
  errno: -104,
  syscall: "read",
};
