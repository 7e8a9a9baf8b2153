import type { LimitSources } from "../../limits/limit-origin.ts";
import type { KeyUsage } from "../../limits/store.ts";
import type { Caller } from "../../tokens/caller.ts";

/** The run that a trace is about. */
export interface TracedRun {
  readonly run: string;
  readonly container: string;
  readonly task: { readonly name: string; readonly version: number | null } | null;
  readonly bearer: Caller | null;
  /** The network of a client without a token; null if the client has a token. */
  readonly network: string | null;
  /** The tokens that the run is counted for. */
  readonly callers: readonly Caller[];
  readonly traceparent: string | null;
  /** The caller's name for the submitted text, or null. */
  readonly file: string | null;
  readonly usage: readonly KeyUsage[];
}

/** The admission of a run. */
export interface Admission extends LimitSources {
  /** The name of this node. */
  readonly node: string;
  /** When the request arrived, on the clock of `performance.now()`. */
  readonly arrivedMs: number;
  /** On the same clock. */
  readonly nowMs: number;
  readonly unixMs: number;
  /** The bytes of console lines that are kept. The guest may send more; they go to the operator's log only. */
  readonly consoleLimit: number;
}
