import { FROM_GUEST } from "../../src/wire/messages.ts";
import type { Seeded } from "../seeded.ts";

const HEADER_BYTES = 9;
const TYPES: readonly number[] = Object.values(FROM_GUEST);

/** Payloads of an honest guest, and payloads that only resemble them. */
const PAYLOADS: readonly Buffer[] = [
  ...["", "1", '"text"', "null", "{}", "[]", "{", "[[[[[[[[", '{"__proto__":{"x":1}}', "\u0000", "1e999"],
  ...['{"status":200,"headers":[]}', '{"status":200,"headers":["content-type","text/plain"]}', '{"status":99}'],
  ...[
    '{"status":200,"headers":["a"]}',
    '{"status":200,"headers":["a","b\\r\\nc: d"]}',
    '{"status":"200","headers":{}}',
  ],
  ...['{"code":"task_threw","detail":"x"}', '{"code":"task_threw","detail":"x","retire":true}', '{"code":"x"}'],
  ...['{"code":"token_invalid","detail":"x"}', '{"code":"task_error","detail":1}', '{"code":["task_error"]}'],
  ...['{"code":"task_threw","detail":"x","status":503,"error":{"name":1}}', '{"code":"task_threw","error":null}'],
  ...['{"host":"example.com","port":80}', '{"host":"\\u0000","port":-1}', '{"host":1,"port":"x"}', '{"host":"a"}'],
].map((text) => Buffer.from(text));
const LENGTHS = [0, 1, 4, 5, 6, 255, 65_536, 65_541, 131_077, 131_078, 2 ** 20 + 5, 2 ** 20 + 6, 2 ** 31, 2 ** 32 - 1];

/** The ids and destinations for frames. */
export interface Targets {
  /** The ids of runs of the guest and of others. */
  readonly runs: readonly number[];
  /** A destination that answers. */
  readonly host: string;
  readonly port: number;
}

/** Returns a random frame, plausible or not. */
export function mutatedFrame(random: Seeded, targets: Targets): Buffer {
  const type = someType(random);
  const isEgress = type >= FROM_GUEST.open && random.below(5) > 0;
  const frame = isEgress
    ? frameOf(type, 1 + random.below(3), egressPayload(random, type, targets))
    : frameOf(type, someId(random, targets.runs), somePayload(random));
  switch (random.below(40)) {
    case 0:
      frame.writeUInt32LE(random.pick(LENGTHS), 0);
      return frame;
    case 1:
      // One byte too many or too few shifts all later bytes.
      frame.writeUInt32LE(Math.max(0, frame.readUInt32LE(0) + random.pick([-1, 1])), 0);
      return frame;
    case 2:
      return frame.subarray(0, random.below(frame.length + 1));
    case 3:
      frame[random.below(frame.length)]! ^= 1 << random.below(8);
      return frame;
    case 4:
      return Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
    default:
      return frame;
  }
}

/** Returns an honest frame for a run, so that mutated frames meet a guest in every state. */
export function honestFrame(random: Seeded, run: { readonly id: number; readonly hasHead: boolean }): Buffer {
  switch (random.below(10)) {
    case 0:
      return frameOf(run.hasHead ? FROM_GUEST.end : FROM_GUEST.result, run.id, Buffer.from(run.hasHead ? "" : "42"));
    case 1:
      return frameOf(FROM_GUEST.log, run.id, Buffer.from("\u0001said"));
    case 2:
      return frameOf(FROM_GUEST.pong, 0, Buffer.alloc(0));
    default:
      if (run.hasHead) return frameOf(FROM_GUEST.data, run.id, Buffer.alloc(random.below(500)));
      return frameOf(FROM_GUEST.head, run.id, Buffer.from('{"status":200,"headers":[]}'));
  }
}

/** The frame by which an honest guest opens its first connection for a run. */
export function honestOpen(run: number, { host, port }: Targets): Buffer {
  return frameOf(FROM_GUEST.open, 1, openPayload(run, host, port));
}

/** Splits bytes at arbitrary positions, as a stream may. */
export function cut(random: Seeded, bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = random.below(3) === 0 ? 1 + random.below(8) : 1 + random.below(bytes.length);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

export function frameOf(type: number, id: number, payload: Buffer): Buffer {
  const frame = Buffer.alloc(HEADER_BYTES + payload.length);
  frame.writeUInt32LE(frame.length - 4, 0);
  frame[4] = type;
  frame.writeUInt32LE(id, 5);
  payload.copy(frame, HEADER_BYTES);
  return frame;
}

function someType(random: Seeded): number {
  return random.below(100) === 0 ? random.below(256) : random.pick(TYPES);
}

function someId(random: Seeded, ids: readonly number[]): number {
  return random.below(2) === 0 ? random.pick([0, 1, 2 ** 16, 2 ** 32 - 1, random.below(2 ** 32)]) : random.pick(ids);
}

/** Returns valid payloads, so that connections are opened and then fuzzed, and almost valid payloads. */
function egressPayload(random: Seeded, type: number, { runs, host, port }: Targets): Buffer {
  const number = Buffer.alloc(4);
  switch (type) {
    case FROM_GUEST.open:
    case FROM_GUEST.lookup: {
      const hosts = [host, host, "127.0.0.1", "169.254.169.254", "nowhere.test", "::ffff:127.0.0.1", "a b", ""];
      const ports = [port, port, 80, 22, 0, 65_536, -1, 1.5];
      return openPayload(random.pick(runs), random.pick(hosts), random.pick(ports));
    }
    case FROM_GUEST.sent:
      return Buffer.alloc(random.below(600), 1);
    case FROM_GUEST.receiveMore:
      number.writeUInt32LE(random.pick([0, 1, 1_000, 2 ** 18, 2 ** 32 - 1]));
      return number;
    case FROM_GUEST.sender:
      number.writeUInt32LE(random.pick(runs));
      return number;
    default:
      return Buffer.alloc(0);
  }
}

function openPayload(run: number, host: string, port: number): Buffer {
  const number = Buffer.alloc(4);
  number.writeUInt32LE(run);
  return Buffer.concat([number, Buffer.from(JSON.stringify({ host, port }))]);
}

function somePayload(random: Seeded): Buffer {
  switch (random.below(6)) {
    case 0:
      return Buffer.alloc(random.below(2_000), random.below(256));
    case 1:
      return Buffer.concat([Buffer.alloc(4, random.below(3)), random.pick(PAYLOADS)]);
    default:
      return random.pick(PAYLOADS);
  }
}
