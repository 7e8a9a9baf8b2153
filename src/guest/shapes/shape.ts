import type { AnswersBy, FaultMessage } from "../../wire/messages.ts";
import type { Run } from "../run.ts";

/** How a function or a handler that a code came to is called. */
export interface Shape {
  /** Whether it may look at the request. */
  needsContext: boolean;
  answersBy: AnswersBy;
  /** Whether it reads the body of this run's request as that comes; without it, only when all of it is there. */
  streamsBody?: (run: Run) => boolean;
  /** Calls it and sees to the answer. What the submitted code throws at once is thrown on. */
  run: (run: Run) => void;
  /** In one sentence what helps with a fault of it, where that lies in how it is called. Never throws. */
  hintOf?: (fault: FaultMessage) => string | undefined;
}

/** Any function that was submitted, called only after it was looked at. */
export type Submitted = (...args: unknown[]) => unknown;
