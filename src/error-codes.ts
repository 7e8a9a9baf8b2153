import { CLIENT_ERRORS } from "./client-error-codes.ts";
import { SERVER_ERRORS } from "./server-error-codes.ts";

/**
 * All failures of a request. The code is stable and machine-readable. The status, the party at fault, the title and the
 * help text belong to the code. The errors page and `docs/reference/errors.md` are generated from this table.
 */
export const PROBLEMS: typeof CLIENT_ERRORS & typeof SERVER_ERRORS = { ...CLIENT_ERRORS, ...SERVER_ERRORS };

/** The party at fault, as sent in the header `Caisson-Fault`. */
export type Fault = "caller" | "task" | "limit" | "service";

export type ProblemCode = keyof typeof PROBLEMS;
