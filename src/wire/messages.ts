import { uncurry } from "./uncurry.ts";

// Taken now: in the guest a task may replace them, and later codes must still be read.
const { parse } = JSON;
const prototype: Buffer = Buffer.prototype;
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const subarray = uncurry(prototype, "subarray");
const toText = uncurry(prototype, "toString");

/**
 * What service and guest say to each other. The number is the frame's type; the comment says what its id and its payload
 * are. Numbers below 64 go to the guest, the others come from it.
 */

/** Service to guest. */
export const TO_GUEST = {
  /** id: code. Payload: `CodeMessage`, see `encodeCode`. Sent once; runs name it by its id. */
  code: 1,
  /** id: run, in its low half a slot that no other run holds. Payload: code id u32, then `RunContext` as JSON, or nothing when the code takes no context. */
  run: 2,
  /** id: run. Payload: an `AbortReason`. The run's signal aborts; nothing more is expected of the run. */
  abort: 3,
  /** id: code. No payload. The guest may drop it; no later run names it. */
  forget: 4,
  /** id: a random number, given back in `pong`. No payload. */
  ping: 5,
  /** id: run. Payload: u32. So much more of the run's body may be sent: its bytes, and `DATA_FRAME_COST_BYTES` a frame. */
  window: 6,
  /** id: run. As `run`, with a u32 after the code id: how much of the request's body may be held at once. The body follows. */
  runWithBody: 7,
  /** id: run. Payload: bytes of the request's body, at most `DATA_BYTES`, within the window. */
  body: 8,
  /** id: run. No payload. The request's body is whole. */
  bodyEnd: 9,

  /** id: stream. Payload: `OpenedMessage` as JSON. The connection stands; both directions have their whole window. */
  opened: 16,
  /** id: stream. Payload: bytes that came from the peer, at most `DATA_BYTES`, within the window. */
  received: 17,
  /** id: stream. Payload: u32. So much more may be sent to the peer: its bytes, and `DATA_FRAME_COST_BYTES` a frame. */
  sendMore: 18,
  /** id: stream. No payload. The peer sends no more. */
  peerEnded: 19,
  /** id: stream. Payload: `NetworkFault` as JSON. The stream is gone, or never came to be. */
  peerReset: 20,
  /** id: the lookup's. Payload: `AnswerMessage` as JSON. */
  answer: 21,
} as const;

/** Guest to service. */
export const FROM_GUEST = {
  /** id: 0. No payload. The guest is warm. */
  ready: 64,
  /** id: run. Payload: the whole result as JSON text. The run is over. */
  result: 65,
  /** id: run. Payload: `HeadMessage` as JSON. `data` and `end` follow. */
  head: 66,
  /** id: run. Payload: bytes of the body, at most `DATA_BYTES`, within the window. */
  data: 67,
  /** id: run. No payload. The body is whole and the run is over. */
  end: 68,
  /** id: run. Payload: `FaultMessage` as JSON. The run is over; after a head it means that the body broke. */
  fault: 69,
  /** id: the ping's. No payload. */
  pong: 70,
  /** id: code. Payload: u8, 1 when runs of this code need a `RunContext`, 0 when they never read it; u8, the index in `ANSWERS_BY`. */
  compiled: 71,
  /** id: run, or 0 when it cannot be told. Payload: `LogLevel` u8, then text. */
  log: 72,
  /** id: 0. No payload. The guest asks to be replaced: what it has begun may end, and it is given nothing new. */
  retire: 73,
  /** id: run. No payload. Work of the run may go on beyond its answer, and keeps its guest; `done` says that it is over. */
  waits: 74,
  /** id: run. No payload. The work of an answered run is over, and so is the run. */
  done: 75,
  /** id: run. Payload: `FaultMessage` as JSON. Something of the run failed of which its answer tells nothing. */
  lateError: 76,
  /** id: run. Payload: u32. So much more of the request's body may be sent: its bytes, and `DATA_FRAME_COST_BYTES` a frame. */
  bodyMore: 77,

  /** id: stream, given by the guest and never given again. Payload: run id u32, then `OpenMessage` as JSON. */
  open: 80,
  /** id: stream. Payload: bytes for the peer, at most `DATA_BYTES`, within the window. */
  sent: 81,
  /** id: stream. Payload: u32. So much more may come from the peer: its bytes, and `DATA_FRAME_COST_BYTES` a frame. */
  receiveMore: 82,
  /** id: stream. No payload. Nothing more is sent to the peer. */
  ended: 83,
  /** id: stream. No payload. Nobody wants the stream any more; nothing more is said of it. */
  reset: 84,
  /** id: given by the guest, apart from those of streams. Payload: run id u32, then `LookupMessage` as JSON. */
  lookup: 85,
} as const;

/** Bytes of a body that may be under way before the receiver asks for more. */
export const WINDOW_BYTES = 262_144;
/** What a `data` frame counts against the window beside its bytes: a body of single bytes must not cost a hundred times its window. */
export const DATA_FRAME_COST_BYTES = 256;
/** The most that one `data` frame carries. */
export const DATA_BYTES = 65_536;

export type AbortReason = "deadline" | "gone";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How a code says its result: by what it returns or is, by calling back, or by writing to a Node handler's `res`. */
export const ANSWERS_BY = ["value", "callback", "response"] as const;
export type AnswersBy = (typeof ANSWERS_BY)[number];

/** Submitted code, before anybody has looked at it. */
export interface CodeMessage {
  /** UTF-8, as submitted. */
  source: Uint8Array;
  /** Sent as `application/typescript`: the readings with types stripped come first. */
  typescript: boolean;
  /** Further modules of the envelope, by relative specifier. */
  modules: Readonly<Record<string, string>> | null;
  /** Its runs only find out whether it can be read, and nothing of it is evaluated. */
  parseOnly?: boolean;
}

const TYPESCRIPT = 1;
const PARSE_ONLY = 2;

/** The request as the task sees it. Members that hold nothing are left out. */
export interface RunContext {
  runId: string;
  container: string;
  method: string;
  /** Absolute, without the reserved parameters. */
  url: string;
  headers: Record<string, string>;
  /** The envelope's `data`. */
  body?: unknown;
  /** Readable values of the token. */
  params?: Readonly<Record<string, unknown>>;
  /** Those of the token, for this run alone. */
  secrets?: Readonly<Record<string, string>>;
}

export interface HeadMessage {
  status: number;
  /** Name, value, name, value. */
  headers: string[];
}

/** Where a run wants to connect to. The service resolves, checks and dials in one step. */
export interface OpenMessage {
  /** A name, or an address. */
  host: string;
  port: number;
  /** What the task's own lookup gave for `host`; it is judged as if it had been asked for. */
  address?: string;
}

/** Both ends of a connection, as `net.Socket` names them. */
export interface OpenedMessage {
  remoteAddress: string;
  remotePort: number;
  remoteFamily: string;
  localAddress: string;
  localPort: number;
  localFamily: string;
}

export interface LookupMessage {
  host: string;
}

export type AnswerMessage = { addresses: { address: string; family: 4 | 6 }[] } | { fault: NetworkFault };

/** What Node's own error of this kind holds, so that libraries understand it. `EGRESS_DENIED` is the policy's refusal. */
export interface NetworkFault {
  message: string;
  code: string;
  errno?: number;
  syscall?: string;
  address?: string;
  port?: number;
  hostname?: string;
}

/** An error of a task as data, its own properties among its members. */
export interface ErrorMessage {
  name: string;
  message: string;
  /** Lines and columns of the submitted source. */
  stack?: string;
  cause?: ErrorMessage;
  /** Of an `AggregateError` and its kind. */
  errors?: ErrorMessage[];
  [property: string]: unknown;
}

/** How a run failed, in the guest's words. The service decides what the caller is told. */
export interface FaultMessage {
  code:
    | "code_syntax"
    | "code_shape"
    | "request_invalid"
    | "task_error"
    | "task_threw"
    | "task_exited"
    | "result_unserializable"
    | "result_too_large";
  detail: string;
  hint?: string;
  /** The integer `status` or `statusCode` of the task's error, when it has one. */
  status?: number;
  error?: ErrorMessage;
  /** The guest asks to be replaced: something in it is broken beyond this run. */
  retire?: boolean;
}

/** The payload of a `code` frame: flags u8, length of the source u32, the source, then the modules as JSON when there are any. */
export function encodeCode(code: CodeMessage): Uint8Array[] {
  const head = Buffer.allocUnsafe(5);
  head[0] = (code.typescript ? TYPESCRIPT : 0) + (code.parseOnly ? PARSE_ONLY : 0);
  head.writeUInt32LE(code.source.length, 1);
  const parts: Uint8Array[] = [head, code.source];
  if (code.modules) parts.push(Buffer.from(JSON.stringify(code.modules)));
  return parts;
}

export function decodeCode(payload: Buffer): CodeMessage {
  const sourceEnd = 5 + readUInt32LE(payload, 1);
  const flags = payload[0] ?? 0;
  return {
    typescript: (flags & TYPESCRIPT) !== 0,
    source: subarray(payload, 5, sourceEnd),
    modules: sourceEnd < payload.length ? parse(toText(payload, "utf8", sourceEnd)) : null,
    ...((flags & PARSE_ONLY) !== 0 && { parseOnly: true }),
  };
}
