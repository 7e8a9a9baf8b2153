import { readFileSync } from "node:fs";

import type { CheckedAddress } from "./policy.ts";

/** The ports that one connection attempt uses. */
export interface PortHold {
  /** The addresses to which the family may connect now. */
  readonly addresses: readonly CheckedAddress[];
  /** Called when the connection is established with one of the addresses. */
  connected(address: string | undefined): void;
  /**
   * Gives the ports back. Further calls have no effect.
   *
   * @param isFirst whether this side closed an established connection first, so that the kernel keeps its port for a minute
   */
  release(isFirst: boolean): void;
}

/** Why a connection is refused, without its subject. */
export const PORTS_USED: string =
  "has as many connections of this token family as it may have; each counts until a minute after its end";

/** The time for which the kernel keeps the port of a connection that this side closed first (TIME_WAIT of Linux), in milliseconds. */
const TIME_WAIT_MS = 60_000;
/** Ports become free in batches of this time. */
const BATCH_MS = 1_000;
/** The part of the machine's local ports that tasks may use for one destination. Other programs have the rest. */
const PART = 3 / 4;
/** The number of local ports with the default settings of Linux. */
const DEFAULT_PORTS = 28_232;

/**
 * Divides the local ports for each destination, an address with a port, between token families. Each connection takes one, and the kernel has
 * about 28,000 of them for each destination. Without a share, one token uses up the ports for a server that others need, also with
 * connections that it has closed. Before it fails, the kernel searches all ports, which stops the service for a moment each time.
 *
 * A family may use as many ports as are left. So one family gets half of them, and ports are always left for further families.
 */
export class LocalPorts {
  readonly #most: number;
  readonly #nowMs: () => number;
  readonly #destinations = new Map<string, Destination>();
  /** Ports that become free later, oldest first. */
  readonly #batches: Batch[] = [];

  /** @param ports the number of local ports for each destination */
  constructor(ports: number = localPorts(), nowMs: () => number = () => performance.now()) {
    this.#most = Math.max(1, Math.floor(ports * PART));
    this.#nowMs = nowMs;
  }

  /** @returns null if the family has its share of the ports for each of the addresses */
  take(family: string, addresses: readonly CheckedAddress[], port: number): PortHold | null {
    this.#expire();
    const free = addresses.filter(({ address }) => this.#hasRoom(family, keyOf(address, port)));
    if (free.length === 0) return null;
    // Any of them may become the address of the connection.
    let held = free.map(({ address }) => keyOf(address, port));
    for (const key of held) this.#add(family, key, 1);
    return {
      addresses: free,
      connected: (address) => {
        const key = address === undefined ? undefined : keyOf(address, port);
        const [kept, ...others] =
          key !== undefined && held.includes(key) ? [key, ...held.filter((each) => each !== key)] : held;
        if (kept === undefined) return;
        for (const other of others) this.#add(family, other, -1);
        held = [kept];
      },
      release: (isFirst) => {
        for (const key of held) {
          if (isFirst) this.#keep(family, key);
          else this.#add(family, key, -1);
        }
        held = [];
      },
    };
  }

  #hasRoom(family: string, key: string): boolean {
    const destination = this.#destinations.get(key);
    return !destination || (destination.families.get(family) ?? 0) + 1 <= this.#most - destination.used;
  }

  #add(family: string, key: string, ports: number): void {
    let destination = this.#destinations.get(key);
    if (!destination) this.#destinations.set(key, (destination = { used: 0, families: new Map() }));
    destination.used += ports;
    const ofFamily = (destination.families.get(family) ?? 0) + ports;
    if (ofFamily === 0) destination.families.delete(family);
    else destination.families.set(family, ofFamily);
    if (destination.used === 0) this.#destinations.delete(key);
  }

  #keep(family: string, key: string): void {
    const nowMs = this.#nowMs();
    let batch = this.#batches.at(-1);
    if (!batch || nowMs >= batch.sinceMs + BATCH_MS) this.#batches.push((batch = { sinceMs: nowMs, ports: new Map() }));
    const families = batch.ports.get(key) ?? new Map<string, number>();
    batch.ports.set(key, families);
    families.set(family, (families.get(family) ?? 0) + 1);
  }

  #expire(): void {
    const endedMs = this.#nowMs() - TIME_WAIT_MS - BATCH_MS;
    while (this.#batches.length > 0 && this.#batches[0]!.sinceMs <= endedMs) {
      for (const [key, families] of this.#batches.shift()!.ports) {
        for (const [family, ports] of families) this.#add(family, key, -ports);
      }
    }
  }
}

interface Destination {
  used: number;
  readonly families: Map<string, number>;
}

interface Batch {
  readonly sinceMs: number;
  /** The number of ports by destination and family. */
  readonly ports: Map<string, Map<string, number>>;
}

function keyOf(address: string, port: number): string {
  return `${address} ${port}`;
}

/** Returns the number of local ports that the kernel uses for connections (ip-sysctl, `ip_local_port_range`). */
function localPorts(): number {
  try {
    const [first, last] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8")
      .trim()
      .split(/\s+/)
      .map(Number);
    return Number.isInteger(first) && Number.isInteger(last) && last! >= first! ? last! - first! + 1 : DEFAULT_PORTS;
  } catch {
    return DEFAULT_PORTS;
  }
}
