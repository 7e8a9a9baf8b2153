import type { IncomingMessage } from "node:http";
import { BlockList, isIPv6, type Socket } from "node:net";

import { canonicalAddress } from "./address.ts";
import { forwardedForHops, forwardedHops, type Hop } from "./forwarded.ts";

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/;

/** Who is at the other end of a connection. */
interface Peer {
  /** In its one spelling. */
  readonly address: string;
  readonly trusted: boolean;
}

/**
 * Who sent a request, and what they addressed, through the proxies that the operator named.
 *
 * What anybody else forwards is a caller's own words, loopback not excepted: a proxy on this machine is to be named too.
 */
export class Proxies {
  readonly #trusted = new BlockList();
  readonly #anyTrusted: boolean;
  readonly #peers = new WeakMap<Socket, Peer>();
  #report: ((ignored: string) => void) | null;

  /**
   * @param trusted addresses of proxies, in CIDR notation
   * @param report told once, when the first header is seen that would have counted if it had come from such a proxy
   */
  constructor(trusted: readonly string[], report: (ignored: string) => void) {
    for (const range of trusted) {
      const [address, prefix] = range.split("/");
      this.#trusted.addSubnet(address!, Number(prefix), isIPv6(address!) ? "ipv6" : "ipv4");
    }
    this.#anyTrusted = trusted.length > 0;
    this.#report = report;
  }

  /**
   * The address of the client, in its one spelling: going back from the connection, the first that is no trusted proxy.
   *
   * Where a trusted proxy does not say who sent the request, or says it so that nobody can read it, that proxy is the
   * client: it is the last one that is certain. The same where it sends both headers and they tell two stories: it wrote
   * one of them and passed the other on from a stranger, and nobody can tell which.
   */
  clientOf(request: IncomingMessage): string {
    const peer = this.#peerAt(request.socket);
    if (!peer.trusted) return peer.address;
    const { forwarded, "x-forwarded-for": forwardedFor } = request.headers;
    const told = forwarded === undefined ? null : this.#sender(peer, forwardedHops(forwarded)).address;
    if (forwardedFor === undefined) return told ?? peer.address;
    const toldFor = this.#sender(peer, forwardedForHops(String(forwardedFor))).address;
    return told === null || told === toldFor ? toldFor : peer.address;
  }

  /** The origin that the client addressed, as the task is told it. */
  originOf(request: IncomingMessage): string {
    const { socket, headers } = request;
    const peer = this.#peerAt(request.socket);
    let scheme = "";
    let host = "";
    if (peer.trusted) {
      const hop = headers.forwarded === undefined ? null : this.#sender(peer, forwardedHops(headers.forwarded)).hop;
      scheme = first(headers["x-forwarded-proto"]) || (hop?.scheme ?? "");
      host = first(headers["x-forwarded-host"]) || (hop?.host ?? "");
    }
    scheme ||= "encrypted" in socket ? "https" : "http";
    host ||= headers.host ?? "";
    return `${scheme === "https" ? "https" : "http"}://${HOST.test(host) ? host : "localhost"}`;
  }

  /** Remembers who a connection came from: once it is closed nobody can tell, and the log still asks. */
  meet(socket: Socket): void {
    this.#peerAt(socket);
  }

  /** Says so, once, when a request brings a header that is not believed. */
  notice({ headers, socket }: IncomingMessage): void {
    if (this.#report === null) return;
    const name = headers["x-forwarded-for"] === undefined ? "Forwarded" : "X-Forwarded-For";
    if (headers[name.toLowerCase()] === undefined || this.#peerAt(socket).trusted) return;
    const remedy = this.#anyTrusted
      ? `${this.#peerAt(socket).address} is none of the proxies that --trust-proxy names`
      : "if a proxy stands in front of this service, name it with --trust-proxy";
    this.#report(`a request came with the header ${name}, which is ignored: ${remedy}`);
    this.#report = null;
  }

  /** Goes back from hop to hop as long as each is a trusted proxy, which knows who the next one was. */
  #sender(peer: Peer, hops: Iterable<Hop>): { address: string; hop: Hop | null } {
    let address = peer.address;
    let last: Hop | null = null;
    for (const hop of hops) {
      if (hop.address === null) return { address, hop };
      address = hop.address;
      last = hop;
      if (!this.#trusts(address)) break;
    }
    return { address, hop: last };
  }

  /** Once a connection: those of proxies bring many requests. */
  #peerAt(socket: Socket): Peer {
    let peer = this.#peers.get(socket);
    if (!peer) {
      // The zone tells on which of its links this machine sees the address.
      const address = canonicalAddress((socket.remoteAddress ?? "").split("%", 1)[0]!) ?? "unknown";
      peer = { address, trusted: this.#trusts(address) };
      this.#peers.set(socket, peer);
    }
    return peer;
  }

  #trusts(address: string): boolean {
    return this.#anyTrusted && address !== "unknown" && this.#trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  }
}

function first(header: string | string[] | undefined): string {
  return String(header ?? "")
    .split(",")[0]!
    .trim();
}
