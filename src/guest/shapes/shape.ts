import type { AnswersBy, FaultMessage } from "../../wire/messages.ts";
import type { Run } from "../run.ts";

/** The calling convention of a submitted function or handler. */
export interface Shape {
  /** Whether the function may read the request. */
  needsContext: boolean;
  answersBy: AnswersBy;
  /** Whether the function reads the body of this run's request as a stream. If absent, the run waits for the whole body. */
  streamsBody?: (run: Run) => boolean;
  /** Calls the function and answers the run. Throws the errors that the function throws synchronously. */
  run: (run: Run) => void;
  /** What a function that returned nothing may have meant to return: its last statement, or the object that its braces look like. Never throws. */
  unreturned?: () => "arrow" | "braces" | null;
  /** Whether a function that returned nothing has no return of a value, or not on each path; null if neither is known. Never throws. */
  returns?: () => "noReturn" | "noReturnPath" | null;
  /** Returns a hint of one sentence for a fault that a wrong calling convention explains. Never throws. */
  hintOf?: (fault: FaultMessage) => string | undefined;
}

/** Any submitted function. It is called only after its parameters were checked. */
export type Submitted = (...args: unknown[]) => unknown;
