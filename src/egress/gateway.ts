import type { EgressCounts } from "../telemetry/egress-counts.ts";
import { formatSize } from "../units.ts";
import { textFrame } from "../wire/frames.ts";
import { FROM_GUEST, type NetworkFault, type OpenMessage, TO_GUEST } from "../wire/messages.ts";
import { type Budget, Budgets, type RunsInFlight } from "./budgets.ts";
import { denial, failure, RUN_IS_OVER } from "./faults.ts";
import {
  type EgressLimits,
  GUEST_PARTS,
  LINGER_MS,
  MAX_OPENS,
  MAX_STREAMS,
  MAX_UNREAD_BYTES,
  MAX_UNSENT_BYTES,
  MAX_WAITING_BYTES,
} from "./limits.ts";
import { Lookups } from "./lookups.ts";
import { parseOpen, parseWindow } from "./messages.ts";
import { narrowed, type NetClaim } from "./narrow.ts";
import { type CheckedAddress, EgressDenied, type EgressPolicy } from "./policy.ts";
import { Refusals } from "./refusals.ts";
import { Stream, type StreamOwner } from "./stream.ts";

/** The way out, as all guests share it. */
export interface Egress {
  readonly policy: EgressPolicy;
  readonly limits: EgressLimits;
  /** Of all guests together: each takes a descriptor of the service. */
  readonly maxConnections: number;
  readonly counts: EgressCounts;
}

/** The guest's end, as its gateway sees it. */
export interface GuestLink {
  readonly runs: RunsInFlight;
  /** Bytes that the guest has not read. */
  readonly waitingBytes: number;
  push(frame: Buffer): void;
  /** Ends the guest: it broke the protocol. */
  break(error: Error): void;
}

/**
 * The way out of one guest: names are resolved here, every address is checked, and the checked address is dialled.
 *
 * A gateway serves one guest and that one party, under its one `net` claim. Every frame that comes is hostile input:
 * what honest code cannot send throws, which is the end of the guest; what may have crossed with a frame of the service
 * is noise. Connections live as long as the guest has runs, not as long as the run that opened them, for pools.
 */
export class Gateway implements StreamOwner {
  readonly #egress: Egress;
  readonly #policy: EgressPolicy;
  readonly #link: GuestLink;
  readonly #budgets: Budgets;
  readonly #refusals: Refusals;
  readonly #lookups: Lookups;
  /** Those that the guest knows of, by the id that it gave. */
  readonly #streams: Map<number, Stream> = new Map();
  /** Those and the ones that still deliver what the guest sent. */
  readonly #held: Set<Stream> = new Set();
  /** Those that have something for the guest, whose turn is next first. */
  readonly #ready: Set<Stream> = new Set();
  #unsentBytes = 0;
  #unreadBytes = 0;
  #closed = false;
  #linger: NodeJS.Timeout | null = null;

  constructor(egress: Egress, claim: NetClaim, link: GuestLink) {
    this.#egress = egress;
    this.#policy = narrowed(egress.policy, claim);
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
   * Takes a frame of the guest, of one of the types from `open` to `lookup`.
   *
   * @returns whether somebody had use for it; when not it is noise.
   * @throws {Error} when it breaks the protocol.
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
        stream.receiveMore(parseWindow(payload));
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

  /** The guest has read what was sent to it. */
  drained(): void {
    this.#unreadBytes = 0;
    this.#pump();
  }

  /** A run is no longer in flight. */
  runEnded(run: number): void {
    this.#budgets.end(run);
    if (this.#held.size === 0 || this.#link.runs.size > 0) return;
    clearTimeout(this.#linger ?? undefined);
    this.#linger = setTimeout(() => this.#cutIdle(), LINGER_MS).unref();
  }

  /** Ends everything: the guest is gone. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#linger ?? undefined);
    for (const stream of this.#held) stream.destroy();
  }

  push(frame: Buffer): void {
    if (this.#closed) return;
    if (this.#link.waitingBytes === 0) this.#unreadBytes = 0;
    this.#unreadBytes += frame.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES)
      return this.#link.break(new Error("answers that the guest does not read"));
    this.#link.push(frame);
  }

  pushData(frame: Buffer): void {
    if (!this.#closed) this.#link.push(frame);
  }

  ready(stream: Stream): void {
    this.#ready.add(stream);
    this.#pump();
  }

  charge(stream: Stream, bytes: number): NetworkFault | null {
    stream.payer = this.#budgets.payer(stream.payer);
    stream.payer.bytes += bytes;
    this.#egress.counts.bytes += bytes;
    const limit = this.#egress.limits.bytes;
    if (stream.payer.bytes <= limit) return null;
    this.#refusals.add(stream.payer, stream.attempt, "limit");
    return denial(
      stream.attempt,
      `the run has sent and received ${formatSize(limit)}, and may no more (--egress-bytes)`,
    );
  }

  hold(stream: Stream, bytes: number): NetworkFault | null {
    if (this.#unsentBytes + bytes > MAX_UNSENT_BYTES) {
      this.#refusals.add(stream.payer, stream.attempt, "limit");
      return denial(stream.attempt, `${formatSize(MAX_UNSENT_BYTES)} wait for servers that do not read`);
    }
    this.#unsentBytes += bytes;
    return null;
  }

  gone(stream: Stream): void {
    if (!this.#held.delete(stream)) return;
    this.#ready.delete(stream);
    if (this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id);
    stream.opener.open--;
    this.#egress.counts.open--;
  }

  #open(id: number, payload: Buffer): boolean {
    if (this.#streams.has(id)) throw new Error("a stream that is open already");
    const { run, message } = parseOpen(payload);
    const budget = this.#budgets.of(run);
    const refusal = budget === null ? RUN_IS_OVER : this.#whyNotOpen(budget);
    if (budget === null || refusal !== null) {
      this.#refusals.add(budget, message, budget === null ? "over" : "limit");
      this.push(textFrame(TO_GUEST.peerReset, id, JSON.stringify(denial(message, refusal!))));
      // Honest code meets a limit now and then; whoever goes on all the same is counted as making noise.
      return false;
    }
    const stream = new Stream(id, message, budget, this.#egress.limits.timeMs, this);
    budget.opens++;
    budget.open++;
    this.#egress.counts.asked++;
    this.#egress.counts.open++;
    this.#streams.set(id, stream);
    this.#held.add(stream);
    stream.begin();
    void this.#dial(stream, message);
    return true;
  }

  #whyNotOpen(budget: Budget): string | null {
    const { limits, counts, maxConnections } = this.#egress;
    if (budget.opens >= MAX_OPENS) return `the run has asked for ${MAX_OPENS} connections, and may for no more`;
    if (budget.open >= limits.connections) {
      return `the run has ${budget.open} connections open, and may have no more (--egress-connections)`;
    }
    if (budget.bytes > limits.bytes) {
      return `the run has sent and received ${formatSize(limits.bytes)}, and may no more (--egress-bytes)`;
    }
    if (this.#held.size >= MAX_STREAMS && !this.#makeRoom()) {
      return `the runs of the container have ${MAX_STREAMS} connections open, and may have no more`;
    }
    if (counts.open >= maxConnections) return "the service has as many connections open as it can";
    const part = Math.max(1, Math.floor(maxConnections / GUEST_PARTS));
    if (counts.open < maxConnections / 2 || this.#held.size < part || this.#makeRoom()) return null;
    return `the service has half of its connections open, and a container that has ${part} may then open no more`;
  }

  /** Ends the oldest connection that a run left behind and no other has used. */
  #makeRoom(): boolean {
    for (const stream of this.#held) {
      if (!stream.payer.over) continue;
      stream.fail(CUT);
      return true;
    }
    return false;
  }

  async #dial(stream: Stream, message: OpenMessage): Promise<void> {
    try {
      stream.dial(await this.#resolve(message), message.port);
    } catch (error) {
      if (error instanceof EgressDenied) this.#refusals.add(stream.opener, message, error.reason);
      stream.fail(failure(error, message));
    }
  }

  #resolve({ host, port, address }: OpenMessage): Promise<CheckedAddress[]> {
    if (address === undefined) return this.#policy.resolve(host, port);
    if (this.#lookups.gave(host, address)) return this.#policy.resolve(host, port, [address]);
    return this.#policy.resolve(address, port);
  }

  /** Sends what waits for the guest, a frame of each stream in turn, until it does not read as fast. */
  #pump(): void {
    // What is added while this goes on comes up again at the end.
    for (const stream of this.#ready) {
      if (this.#closed || this.#link.waitingBytes >= MAX_WAITING_BYTES) return;
      this.#ready.delete(stream);
      if (stream.sendOne()) this.#ready.add(stream);
    }
  }

  #cutIdle(): void {
    if (this.#link.runs.size > 0) return;
    for (const stream of this.#held) stream.fail(CUT);
  }
}

const CUT: NetworkFault = {
  message: "read ECONNRESET: no run has used the connection",
  code: "ECONNRESET",
  errno: -104,
  syscall: "read",
};
