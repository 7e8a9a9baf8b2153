import { destination, type Logger, pino } from "pino";

import type { Config } from "../config.ts";
import { Problem } from "../errors.ts";
import { LOG_LEVELS } from "../wire/messages.ts";
import { LineShare } from "./line-share.ts";

const REFUSALS_PER_MINUTE = 10;

/** The service's log: JSON lines on stderr. No line holds a token: none is handed to it. */
export interface Log {
  readonly pino: Logger;
  /** A run that did not come to a result, and the address of who asked for it. */
  run(run: string, container: string, jti: string, client: string, error: unknown): void;
  /**
   * A run that was refused before it counted against a limit. At info, or `overloaded` at error, for the first of its
   * family in a minute, whose first line has the number of lines `leftOut` before it; at debug for the others.
   */
  refusedRun(family: string, run: string, container: string, jti: string, client: string, error: unknown): void;
  /** A line that a task wrote to its console. @param text called where the line is written. */
  task(run: string, container: string, level: number, text: () => string): void;
  /** Something of a run failed of which its answer tells nothing. @param again not the first of its run. */
  lateError(run: string, container: string, jti: string, problem: Problem, again: boolean): void;
  /** A task asked for a place that it may not reach. Whoever reports it keeps it from flooding the log. */
  refused(run: string, container: string, jti: string, refusal: object): void;
  /** An act of an administrator, for the audit. */
  audit(what: string, details: Readonly<Record<string, unknown>>): void;
}

export function openLog(level: Config["logLevel"]): Log {
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination(2));
  const refusals = new LineShare(REFUSALS_PER_MINUTE);
  // Apart from the others, which must not hide it. A caller who sends more bodies than fit causes any number of these.
  const overloads = new LineShare(REFUSALS_PER_MINUTE);
  const failed: Log["run"] = (run, container, jti, client, error) => {
    if (!(error instanceof Problem)) return logger.error({ run, container, jti, client, err: error }, "run failed");
    const { code, status } = error;
    logger[error.fault === "service" ? "error" : "info"](
      { run, container, jti, client, code, status, cause: causeOf(error) },
      error.message,
    );
  };
  return {
    pino: logger,
    run: failed,
    refusedRun: (family, run, container, jti, client, error) => {
      const isOverload = error instanceof Problem && error.code === "overloaded";
      if (!(error instanceof Problem) || (error.fault === "service" && !isOverload)) {
        return failed(run, container, jti, client, error);
      }
      const leftOut = (isOverload ? overloads : refusals).admit(family, performance.now());
      const { code, status } = error;
      const names = { run, container, jti, client, code, status };
      const atLevel = leftOut === null ? "debug" : isOverload ? "error" : "info";
      logger[atLevel](leftOut ? { ...names, leftOut } : names, error.message);
    },
    // At debug, whatever the task calls it: a task must not fill the log of the service.
    task: (run, container, taskLevel, text) => {
      if (!logger.isLevelEnabled("debug")) return;
      logger.debug({ run, container, taskLevel: LOG_LEVELS[taskLevel] }, text());
    },
    // A line a run at info, which is as many as the limits admit: a run may leave any number of rejections behind.
    lateError: (run, container, jti, problem, again) => {
      const { name, message, stack } = problem.options.error ?? {};
      const error = name === undefined ? undefined : { name, message, stack };
      logger[again ? "debug" : "info"]({ run, container, jti, code: problem.code, error }, problem.message);
    },
    // At info, though operators care: a task must not raise the alarms that are set on warnings.
    refused: (run, container, jti, refusal) => {
      logger.info({ run, container, jti, ...refusal }, "egress refused");
    },
    audit: (what, details) => logger.info(details, what),
  };
}

function causeOf(problem: Problem): string | undefined {
  return problem.cause instanceof Error ? problem.cause.message : undefined;
}
