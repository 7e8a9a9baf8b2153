import { isIP } from "node:net";

import { bytesFrame } from "../../wire/frames.ts";
import { type AnswerMessage, FROM_GUEST } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { safeMap } from "../safe-map.ts";
import { carrier, nextLookupId } from "./carrier.ts";
import { errorOf, notFound } from "./network-errors.ts";
import { request } from "./payloads.ts";
import { Scope } from "./scope.ts";

const { parse } = JSON;
const prototype: Buffer = Buffer.prototype;
const toText = uncurry(prototype, "toString");
const later = process.nextTick.bind(process);

/** The longest DNS name, with its final dot (RFC 1035, 2.3.4). */
export const MAX_HOST_CHARACTERS = 254;

export interface Address {
  address: string;
  family: 4 | 6;
}
export type Family = 0 | 4 | 6;
/** Receives an error, or at least one address. */
type OnAddresses = (error: Error | null, addresses: Address[]) => void;

const pending = safeMap<number, (answer: AnswerMessage) => void>();

/** Asks the service for the addresses of a name. @param family The wanted family; 0 for both. */
export function findAddresses(host: string, family: Family, done: OnAddresses): void {
  const literal = isIP(host);
  if (literal) return later(done, null, [{ address: host, family: literal }]);
  if (host.length > MAX_HOST_CHARACTERS) return later(done, notFound(host), []);
  const id = nextLookupId();
  const scope = new Scope();
  carrier().hold();
  pending.set(id, (answer) => {
    carrier().release();
    scope.run(() => {
      if ("fault" in answer) return done(errorOf(answer.fault), []);
      const addresses: Address[] = [];
      for (let index = 0; index < answer.addresses.length; index += 1) {
        const each = answer.addresses[index]!;
        if (family === 0 || each.family === family) addresses[addresses.length] = each;
      }
      done(addresses.length > 0 ? null : notFound(host), addresses);
    });
  });
  carrier().send(bytesFrame(FROM_GUEST.lookup, id, ...request({ host })));
}

/** @param payload The payload of an `answer` frame. */
export function onAnswer(id: number, payload: Buffer): void {
  const receive = pending.get(id);
  pending.delete(id);
  receive?.(parse(toText(payload)) as AnswerMessage);
}
