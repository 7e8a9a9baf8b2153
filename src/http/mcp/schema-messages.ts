import type { InputSchema } from "../../tasks/input-schema.ts";

/** An input, and the schema that it must match. */
export interface SchemaRequest {
  readonly schema: InputSchema;
  readonly input: unknown;
}

/** The message of the thread when it begins a check. */
export const READY = "ready";

/** The faults of an input: none if it matches. */
export type SchemaAnswer = typeof READY | readonly { readonly member: string; readonly detail: string }[];
