import type { Ranges } from "../packages/names.ts";

/** A run that a tool starts. Its request has the token; everything else is here. */
export interface ToolRun {
  readonly container: string;
  /** The name of a task, or code. */
  readonly what: { readonly task: string } | { readonly code: string; readonly packages?: Ranges | undefined };
  /** The data as JSON, or null. */
  readonly data: string | null;
  /** A duration, as the caller wrote it; undefined if there is none. */
  readonly timeout: string | undefined;
  /** Checks the data after the limits were asked, and before the run is counted. @throws {Problem} if the data is not valid */
  readonly check?: () => Promise<void>;
  /** Cancels the run. */
  readonly signal: AbortSignal;
  /** Called when the run has begun, and never if it is refused. Gives back what the request held. */
  readonly onBegun: () => void;
}
