import type { LookupMessage, OpenMessage } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { carrier } from "./carrier.ts";

const allocate = Buffer.allocUnsafe.bind(Buffer);
const fromText = Buffer.from.bind(Buffer) as (text: string) => Buffer;
const prototype: Buffer = Buffer.prototype;
const writeUInt32LE = uncurry(prototype, "writeUInt32LE");
const { stringify } = JSON;

/** Encodes the payload of an `open` or `lookup` frame: the id of the run that is charged, then the message. */
export function request(message: OpenMessage | LookupMessage): [Buffer, Buffer] {
  return [u32(carrier().payer()), fromText(stringify(message))];
}

function u32(value: number): Buffer {
  const bytes = allocate(4) as Buffer;
  writeUInt32LE(bytes, value, 0);
  return bytes;
}
