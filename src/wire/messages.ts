/**
 * The frames between service and guest. The number is the frame's type. Each comment describes the id, the payload and the
 * meaning. Types below 64 go to the guest; the others come from the guest. In a window, a frame counts for its bytes plus
 * `DATA_FRAME_COST_BYTES`.
 */

/** Frames from the service to the guest. */
export const TO_GUEST = {
  /** id: code. Payload: `CodeMessage`, see `encodeCode`. Sent once; runs refer to the code by this id. */
  code: 1,
  /** id: run; its low half is a slot that no other open run has. Payload: code id u32, then `RunContext` as JSON, or nothing if the code takes no context. */
  run: 2,
  /** id: run. Payload: an `AbortReason`. The run's signal aborts; the service ignores later frames of the run's answer. */
  abort: 3,
  /** id: code. No payload. The guest may drop the code; no later run refers to it. */
  forget: 4,
  /** id: a random number, returned in `pong`. No payload. */
  ping: 5,
  /** id: run. Payload: u32, the bytes added to the window of the response body. */
  window: 6,
  /**
   * id: run. As `run`, with two u32 after the code id: the bytes of the request body that may be buffered at once, and a number for the
   * caller, because callers share the memory for bodies. The body follows.
   */
  runWithBody: 7,
  /** id: run. Payload: bytes of the request body, at most `DATA_BYTES`, within the window. */
  body: 8,
  /** id: run. No payload. The request body is complete. */
  bodyEnd: 9,
  /** id: run. As `run`, for a request with OPTIONS. Only a fetch handler answers it; for other code the result is null. */
  preflight: 10,
  /**
   * id: packages, a number of the service for this guest. Payload: their script and V8's code cache of it, see `encodePackages`. Sent
   * once; codes refer to the packages by this id.
   */
  packages: 11,
  /** id: packages. No payload. The guest may drop the packages; frames before this one have ended each code that names them. */
  forgetPackages: 12,
  /** id: run. Payload: `TransformedMessage` as JSON, the answer to `transform`. */
  transformed: 13,

  /** id: stream. Payload: `OpenedMessage` as JSON. The connection is established; both directions have the full window. */
  opened: 16,
  /** id: stream. Payload: bytes from the peer, at most `DATA_BYTES`, within the window. */
  received: 17,
  /** id: stream. Payload: u32, the bytes added to the window of the direction to the peer. */
  sendMore: 18,
  /** id: stream. No payload. The peer has ended its direction. */
  peerEnded: 19,
  /** id: stream. Payload: `NetworkFault` as JSON. The connection failed or was reset, and the stream is closed. */
  peerReset: 20,
  /** id: lookup. Payload: `AnswerMessage` as JSON. */
  answer: 21,
} as const;

/** Frames from the guest to the service. */
export const FROM_GUEST = {
  /** id: 0. No payload. The guest is warm. */
  ready: 64,
  /** id: run. Payload: the whole result as JSON text. The run is over. */
  result: 65,
  /** id: run. Payload: `HeadMessage` as JSON. `data` and `end` follow. */
  head: 66,
  /** id: run. Payload: bytes of the response body, at most `DATA_BYTES`, within the window. */
  data: 67,
  /** id: run. No payload. The response body is complete and the run is over. */
  end: 68,
  /** id: run. Payload: `FaultMessage` as JSON. The run is over. After a head, the response body is incomplete. */
  fault: 69,
  /** id: the id of the `ping`. No payload. */
  pong: 70,
  /** id: code. Payload: u8, 1 if runs of this code need a `RunContext`, 0 if they never read it; u8, the index in `ANSWERS_BY`. */
  compiled: 71,
  /** id: run, or 0 if the run is unknown. Payload: `LogLevel` u8, then text. */
  log: 72,
  /** id: 0. No payload. The guest asks to be replaced. It may finish its runs, but gets no new run. */
  retire: 73,
  /** id: run. No payload. Work of the run may continue after its answer, and the guest must live until `done`. */
  waits: 74,
  /** id: run. No payload. The remaining work of an answered run is finished, and the run is over. */
  done: 75,
  /** id: run. Payload: `FaultMessage` as JSON. Part of the run failed, and the run's answer does not report it. */
  lateError: 76,
  /** id: run. Payload: u32, the bytes added to the window of the request body. */
  bodyMore: 77,
  /** id: run. Payload: u32, a line. The code returned nothing, although its last statement, in this line, has a value. */
  unreturned: 78,
  /**
   * id: run. Payload: u32, the frames except pings that the guest has received. Nothing in the guest can ever end the run, if the
   * service has sent no further frame.
   */
  stalled: 79,

  /** id: stream; the guest chooses it and never reuses it. Payload: run id u32, then `OpenMessage` as JSON. */
  open: 80,
  /** id: stream. Payload: bytes for the peer, at most `DATA_BYTES`, within the window. */
  sent: 81,
  /** id: stream. Payload: u32, the bytes added to the window of the direction from the peer. */
  receiveMore: 82,
  /** id: stream. No payload. The guest has ended its direction. */
  ended: 83,
  /** id: stream. No payload. The guest has closed the stream and ignores later frames of it. */
  reset: 84,
  /** id: lookup; the guest chooses it, and it is independent of stream ids. Payload: run id u32, then `LookupMessage` as JSON. */
  lookup: 85,
  /** id: run. Payload: see `encodeResultHint`. The result, which follows, is probably not what the author of the code meant. */
  resultHint: 86,
  /** id: run. Payload: `TransformMessage` as JSON. The run waits for JavaScript that is made from texts of its code. Sent once at most. */
  transform: 87,
  /** id: stream. Payload: run id u32. From now on, this run sends on the stream, and is charged for its bytes in both directions. */
  sender: 88,
} as const;

/** The bytes of a body or a stream that may be in transit before the receiver grants more. */
export const WINDOW_BYTES = 262_144;
/**
 * The bytes that a frame counts for in the window, in addition to its payload. Without this cost, a body of single bytes could
 * use a hundred times its window in memory.
 */
export const DATA_FRAME_COST_BYTES = 256;
/** The payload limit of a frame with bytes of a body or a stream. */
export const DATA_BYTES = 65_536;

export type AbortReason = "deadline" | "gone";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * The ways in which code answers: by its value or return value, by its callback, by writing to a Node handler's `res`, by the
 * `Response` of its fetch handler, or by `res` of a function of three parameters that does not look like a Node handler.
 */
export const ANSWERS_BY = ["value", "callback", "response", "fetch", "three"] as const;
export type AnswersBy = (typeof ANSWERS_BY)[number];

/** The request as the task sees it. Empty members are omitted. */
export interface RunContext {
  runId: string;
  container: string;
  method: string;
  /** Absolute, without the reserved parameters. */
  url: string;
  headers: Record<string, string>;
  /** The trace of the request (W3C Trace Context). */
  traceparent?: string;
  /** The envelope's `data`. */
  body?: unknown;
  /** The token's params, which its holder can read. */
  params?: Readonly<Record<string, unknown>>;
  /** The token's secrets, for this run only. */
  secrets?: Readonly<Record<string, string>>;
}

export interface HeadMessage {
  status: number;
  /** Name, value, name, value. */
  headers: string[];
}

/** The target of a connection. The service resolves, checks and connects in one step. */
export interface OpenMessage {
  /** A name or an address. */
  host: string;
  port: number;
  /** The address that the task's lookup returned for `host`. The service checks it like a requested address. */
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

/** The members of Node's error of the same kind, so that libraries recognize it. `EGRESS_DENIED` is the policy's refusal. */
export interface NetworkFault {
  message: string;
  code: string;
  errno?: number;
  syscall?: string;
  address?: string;
  port?: number;
  hostname?: string;
}

/** An error of a task as data. Its own properties are further members. */
export interface ErrorMessage {
  name: string;
  message: string;
  /** Lines and columns of the submitted source. */
  stack?: string;
  cause?: ErrorMessage;
  /** The errors of an `AggregateError` or a similar error. */
  errors?: ErrorMessage[];
  [property: string]: unknown;
}

/** A position in the submitted code, or in the original text that a source map in the code names. */
export interface PositionMessage {
  file: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** The lines around the position, with a mark under it; null if the text is not available. */
  frame: string | null;
}

/** The failure of a run as the guest reports it. The service decides what the caller receives. */
export interface FaultMessage {
  code:
    | "code_syntax"
    | "code_shape"
    | "module_missing"
    | "request_invalid"
    | "task_error"
    | "task_threw"
    | "task_exited"
    | "result_unserializable"
    | "result_too_large";
  detail: string;
  hint?: string;
  /** The integer `status` or `statusCode` of the task's error, if it has one. */
  status?: number;
  error?: ErrorMessage;
  /** The submitted code that threw, or that does not parse. */
  at?: PositionMessage;
  /** Whether the guest asks to be replaced, because the fault also affects later runs. */
  retire?: boolean;
}
