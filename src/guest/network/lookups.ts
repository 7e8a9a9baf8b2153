import { isIP } from "node:net";

import { bytesFrame } from "../../wire/frames.ts";
import { type AnswerMessage, FROM_GUEST } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { safeMap } from "../safe-map.ts";
import { carrier, nextLookupId } from "./carrier.ts";
import { errorOf, notFound } from "./errors.ts";
import { request } from "./payloads.ts";
import { Scope } from "./scope.ts";

const { parse } = JSON;
const prototype: Buffer = Buffer.prototype;
const toText = uncurry(prototype, "toString");
const later = process.nextTick.bind(process);

/** No name is longer (RFC 1035, 2.3.4), not even with its last dot. */
export const MAX_HOST_CHARACTERS = 254;

export interface Address {
  address: string;
  family: 4 | 6;
}
export type Family = 0 | 4 | 6;
/** Gets what was found, which is at least one. */
type OnAddresses = (error: Error | null, addresses: Address[]) => void;

const waiting = safeMap<number, (answer: AnswerMessage) => void>();

/** Asks the service for the addresses of a name. @param family 0 for both */
export function findAddresses(host: string, family: Family, done: OnAddresses): void {
  const literal = isIP(host);
  if (literal) return later(done, null, [{ address: host, family: literal }]);
  if (host.length > MAX_HOST_CHARACTERS) return later(done, notFound(host), []);
  const id = nextLookupId();
  const scope = new Scope();
  carrier().hold();
  waiting.set(id, (answer) => {
    carrier().release();
    scope.run(() => {
      if ("fault" in answer) return done(errorOf(answer.fault), []);
      const found: Address[] = [];
      for (let index = 0; index < answer.addresses.length; index += 1) {
        const each = answer.addresses[index]!;
        if (family === 0 || each.family === family) found[found.length] = each;
      }
      done(found.length > 0 ? null : notFound(host), found);
    });
  });
  carrier().send(bytesFrame(FROM_GUEST.lookup, id, ...request({ host })));
}

/** @param payload Of an `answer` frame. */
export function onAnswer(id: number, payload: Buffer): void {
  const answer = waiting.get(id);
  waiting.delete(id);
  answer?.(parse(toText(payload)) as AnswerMessage);
}
