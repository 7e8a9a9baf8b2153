import type { IncomingMessage } from "node:http";
import { BlockList, isIPv6, type Socket } from "node:net";

import { canonicalAddress, clientNetwork } from "./address.ts";
import { forwardedForHops, forwardedHops, type Hop } from "./forwarded.ts";

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/;

/** A forwarding header in the bytes of a head. */
const FORWARDING = /\n(forwarded|x-forwarded-for):([^\r\n]*)/i;

/** The other end of a connection. */
interface Peer {
  /** The address in its canonical spelling. */
  readonly address: string;
  readonly trusted: boolean;
}

/**
 * Determines which client sent a request and which origin it addressed, behind the proxies that the operator trusts.
 *
 * Forwarding headers of all other peers are ignored, because any client can send them. This includes loopback: the
 * operator must name a proxy on this machine too.
 */
export class Proxies {
  readonly #trusted = new BlockList();
  readonly #anyTrusted: boolean;
  readonly #peers = new WeakMap<Socket, Peer>();
  #onIgnored: ((message: string) => void) | null;

  /**
   * @param trusted the addresses of the trusted proxies, in CIDR notation
   * @param onIgnored called once, for the first forwarding header that is ignored because its peer is not trusted
   */
  constructor(trusted: readonly string[], onIgnored: (message: string) => void) {
    for (const range of trusted) {
      const [address, prefix] = range.split("/");
      this.#trusted.addSubnet(address!, Number(prefix), isIPv6(address!) ? "ipv6" : "ipv4");
    }
    this.#anyTrusted = trusted.length > 0;
    this.#onIgnored = onIgnored;
  }

  /**
   * Returns the address of the client, in its canonical spelling: the nearest hop that is not a trusted proxy.
   *
   * If a trusted proxy does not name the sender of the request, or its header cannot be parsed, this proxy is the
   * client, because it is the last hop that is certain. The same applies if a proxy sends both headers and they
   * disagree: the proxy wrote one of them and passed on the other from its client, and the service cannot tell which.
   */
  clientOf(request: IncomingMessage): string {
    const peer = this.#peerAt(request.socket);
    if (!peer.trusted) return peer.address;
    const { forwarded, "x-forwarded-for": forwardedFor } = request.headers;
    const sender = forwarded === undefined ? null : this.#sender(peer, forwardedHops(forwarded)).address;
    if (forwardedFor === undefined) return sender ?? peer.address;
    const senderFor = this.#sender(peer, forwardedForHops(String(forwardedFor))).address;
    return sender === null || sender === senderFor ? senderFor : peer.address;
  }

  /** Returns the origin that the client addressed. It becomes part of the URL that the task receives. */
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

  /**
   * Records the address of a connection, because Node does not return it after the close.
   *
   * @param transport the TCP connection, if the socket is the decrypted one of TLS
   */
  recordPeer(socket: Socket, transport: Socket = socket): void {
    this.#peers.set(socket, this.#peerAt(transport));
  }

  /**
   * Returns the network that bytes of a connection probably come from, before they are parsed. Bytes of a trusted proxy belong
   * to the client that the first forwarding header in them names. Text of a client may look like this header, so only the
   * order of work may depend on the result.
   */
  networkOfBytes(socket: Socket, bytes: Buffer): string {
    const peer = this.#peerAt(socket);
    const [, name, value] = (peer.trusted && FORWARDING.exec(bytes.toString("latin1"))) || [];
    if (value === undefined) return clientNetwork(peer.address);
    const hops = name!.toLowerCase() === "forwarded" ? forwardedHops(value) : forwardedForHops(value);
    return clientNetwork(this.#sender(peer, hops).address);
  }

  /** Returns the client network at the other end of a connection, or null if that is a trusted proxy. */
  networkOf(socket: Socket): string | null {
    const { address, trusted } = this.#peerAt(socket);
    return trusted ? null : clientNetwork(address);
  }

  /** Reports, once, that a request contains a forwarding header that is ignored. */
  reportIgnoredHeader({ headers, socket }: IncomingMessage): void {
    if (this.#onIgnored === null) return;
    const name = headers["x-forwarded-for"] === undefined ? "Forwarded" : "X-Forwarded-For";
    if (headers[name.toLowerCase()] === undefined || this.#peerAt(socket).trusted) return;
    const remedy = this.#anyTrusted
      ? `${this.#peerAt(socket).address} is not one of the proxies that --trust-proxy names`
      : "if this service is behind a proxy, name the proxy with --trust-proxy";
    this.#onIgnored(`the header ${name} of a request is ignored: ${remedy}`);
    this.#onIgnored = null;
  }

  /**
   * Follows the hops back while each is a trusted proxy, because only a trusted proxy reports the next hop reliably.
   */
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

  /** Determines the peer once for each connection, because a proxy sends many requests over one connection. */
  #peerAt(socket: Socket): Peer {
    let peer = this.#peers.get(socket);
    if (!peer) {
      // The zone, after `%`, only names the link of this machine.
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
