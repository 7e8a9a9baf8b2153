import type v8Module from "node:v8";

import { TO_GUEST } from "../../wire/messages.ts";
import { stopCompilationCache } from "../compilation-flags.ts";
import { type Carrier, setCarrier } from "./carrier.ts";
import { patchConnect } from "./connect.ts";
import { patchDns } from "./dns.ts";
import { onFirstUse, onUndici, watchFirstUse } from "./first-use.ts";
import { patchHttp2 } from "./http2.ts";
import { onAnswer } from "./lookups.ts";
import { notSupported } from "./network-errors.ts";
import { patchDatagrams, patchListen, type SetPendingError } from "./refuse-servers.ts";
import { onStreamFrame } from "./streams.ts";
import { patchTls } from "./tls.ts";
import { patchWorkers } from "./workers.ts";

/** Routes the network of this thread through the service. Call it once, before any submitted code runs. */
export function installNetwork(carrier: Carrier, setPendingError: SetPendingError = () => {}): void {
  setCarrier(carrier);
  patchConnect();
  patchListen(setPendingError);
  const tlsReady = onFirstUse(["tls", "https", "http2", "_tls_wrap"], "tls", patchTls);
  onFirstUse(["http2"], "http2", patchHttp2);
  onFirstUse(["dns", "dns/promises"], "dns", patchDns);
  onFirstUse(["dgram"], "dgram", patchDatagrams);
  onFirstUse(["v8"], "v8", patchFlags);
  onFirstUse(["worker_threads"], "worker_threads", patchWorkers);
  watchFirstUse();
  onUndici(tlsReady);
}

/** Receives a frame about a stream or a lookup of this thread. */
export function onThreadFrame(type: number, id: number, payload: Buffer): void {
  if (type === TO_GUEST.answer) onAnswer(id, payload);
  else onStreamFrame(type, id, payload);
}

/**
 * Makes `v8.setFlagsFromString` fail: some flags disable V8's memory checks, for example
 * `--experimental-wasm-skip-bounds-checks`. This is only defence in depth. Node's internals can bypass it, and the sandbox
 * does not depend on it.
 */
function patchFlags(v8: typeof v8Module): void {
  // Afterwards, nothing can set a flag.
  stopCompilationCache(v8);
  v8.setFlagsFromString = setFlagsFromString;
}

function setFlagsFromString(): never {
  const message = "setFlagsFromString is not possible: all tasks use the same V8 flags";
  throw notSupported("setFlagsFromString", message);
}
