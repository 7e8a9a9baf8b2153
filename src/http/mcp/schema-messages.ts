import type { InputSchema } from "../../tasks/input-schema.ts";

/** An input, and the schema that it must match. */
export interface SchemaRequest {
  readonly schema: InputSchema;
  readonly input: unknown;
}

/** The message of the thread when it begins a check. */
export const READY = "ready";

/** The end of a check. */
interface CheckEnd {
  /** The faults of the input: none if it matches. */
  readonly faults: readonly { readonly member: string; readonly detail: string }[];
  /** The processor time of the check. */
  readonly cpuMs: number;
}

export type SchemaAnswer = typeof READY | CheckEnd;
