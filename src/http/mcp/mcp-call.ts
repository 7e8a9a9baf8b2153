import type { Caller } from "../../tokens/caller.ts";
import type { ApiDependencies, Call } from "../api/route.ts";

/** What a request to this endpoint is permitted to do, and the parts of the service that its tools use. */
export interface McpTarget extends ApiDependencies {
  readonly by: Caller;
  /** The container of all its tools; null if each call names one. */
  readonly container: string | null;
}

/** A request to this endpoint. */
export interface McpCall extends McpTarget {
  readonly call: Call;
  /** The session of a client of 2025, which it sends with each request; null if it sends none. */
  readonly session: string | null;
  /** Gives back the memory of the request. */
  release: () => void;
}
