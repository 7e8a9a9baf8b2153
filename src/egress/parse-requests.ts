import { isIP } from "node:net";

import { EGRESS_MESSAGE_BYTES } from "../wire/bounds.ts";
import type { LookupMessage, OpenMessage } from "../wire/messages.ts";

/**
 * Parses the requests of a guest. Submitted code can forge them: a malformed request throws, which ends the guest. An
 * invalid host does not throw here, because an honest task may send it; the policy rejects it.
 */

/** A message and the run that it states, which may differ from the run that sent it. */
export interface GuestRequest<Message> {
  readonly run: number;
  readonly message: Message;
}

/** @throws {TypeError} or {SyntaxError} if the payload is malformed. */
export function parseOpen(payload: Buffer): GuestRequest<OpenMessage> {
  const { run, members } = parse(payload);
  const { port, address } = members;
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65_535)
    throw new TypeError("an invalid port");
  if (address !== undefined && (typeof address !== "string" || isIP(address) === 0)) {
    throw new TypeError("an invalid address");
  }
  const message = { host: hostOf(members), port: port as number };
  return { run, message: address === undefined ? message : { ...message, address } };
}

/** @throws {TypeError} or {SyntaxError} if the payload is malformed. */
export function parseLookup(payload: Buffer): GuestRequest<LookupMessage> {
  const { run, members } = parse(payload);
  return { run, message: { host: hostOf(members) } };
}

/** Parses a window, or the id of a run. @throws {TypeError} if the payload is not one number. */
export function parseNumber(payload: Buffer): number {
  if (payload.length !== 4) throw new TypeError(`a number of ${payload.length} bytes`);
  return payload.readUInt32LE(0);
}

function parse(payload: Buffer): { run: number; members: Record<string, unknown> } {
  if (payload.length < 4 || payload.length > EGRESS_MESSAGE_BYTES) throw new TypeError(`${payload.length} bytes`);
  const members: unknown = JSON.parse(payload.toString("utf8", 4));
  if (typeof members !== "object" || members === null) throw new TypeError("a message that is not an object");
  return { run: payload.readUInt32LE(0), members: members as Record<string, unknown> };
}

function hostOf({ host }: Record<string, unknown>): string {
  if (typeof host !== "string") throw new TypeError("a host that is not a string");
  return host;
}
