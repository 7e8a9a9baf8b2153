import { isIP } from "node:net";

import { EGRESS_MESSAGE_BYTES } from "../wire/bounds.ts";
import type { LookupMessage, OpenMessage } from "../wire/messages.ts";

/**
 * What a guest asks for, checked. Submitted code can forge it: what does not fit is the end of the guest (an exception
 * here). Whether the host is one is the policy's to say, because a task may well ask for one that is none.
 */

/** A message and the run that it names, which need not be the one that sent it. */
export interface Asked<Message> {
  readonly run: number;
  readonly message: Message;
}

/** @throws {TypeError} or {SyntaxError} when the payload does not fit. */
export function parseOpen(payload: Buffer): Asked<OpenMessage> {
  const { run, members } = parse(payload);
  const { port, address } = members;
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65_535) throw new TypeError("a bad port");
  if (address !== undefined && (typeof address !== "string" || isIP(address) === 0)) {
    throw new TypeError("an address that is none");
  }
  const message = { host: hostOf(members), port: port as number };
  return { run, message: address === undefined ? message : { ...message, address } };
}

/** @throws {TypeError} or {SyntaxError} when the payload does not fit. */
export function parseLookup(payload: Buffer): Asked<LookupMessage> {
  const { run, members } = parse(payload);
  return { run, message: { host: hostOf(members) } };
}

/** @throws {TypeError} when the payload is no window. */
export function parseWindow(payload: Buffer): number {
  if (payload.length !== 4) throw new TypeError(`a window of ${payload.length} bytes`);
  return payload.readUInt32LE(0);
}

function parse(payload: Buffer): { run: number; members: Record<string, unknown> } {
  if (payload.length < 4 || payload.length > EGRESS_MESSAGE_BYTES) throw new TypeError(`${payload.length} bytes`);
  const members: unknown = JSON.parse(payload.toString("utf8", 4));
  if (typeof members !== "object" || members === null) throw new TypeError("a message that is no object");
  return { run: payload.readUInt32LE(0), members: members as Record<string, unknown> };
}

function hostOf({ host }: Record<string, unknown>): string {
  if (typeof host !== "string") throw new TypeError("a host that is no text");
  return host;
}
