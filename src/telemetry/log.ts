import { type Logger, pino } from "pino";

import type { Config } from "../config.ts";
import { Problem } from "../errors.ts";
import { LOG_LEVELS } from "../wire/messages.ts";
import { LineShare } from "./line-share.ts";
import { type LogLosses, LogOutput } from "./log-output.ts";

const REFUSALS_PER_MINUTE = 10;
const FAILURES_PER_MINUTE = 1_000;
/** The most characters of a task's text in a line. The record of the run has more. */
const MOST_CHARACTERS = 1_024;
/** Faults that the answer calls those of the service, and that runs cause: another run in the guest, or the builds of the same family. */
const CAUSED_BY_RUNS: ReadonlySet<string> = new Set(["container_restarted", "packages_building"]);
const ALL = "all";
const STDERR = 2;

/** The names of a run in its lines. */
export interface RunNames {
  readonly run: string;
  readonly container: string;
  /** The name of the named task. */
  readonly task?: string;
  readonly jti: string;
  /** The trace that the request belongs to. */
  readonly traceparent?: string;
}

/** The service's log: JSON lines on stderr. No line contains a token, because no function here receives one. */
export interface Log {
  readonly pino: Logger;
  /** What the log has lost since the start. */
  readonly losses: LogLosses;
  /**
   * Logs a run without a result, and the address of its client. Failures of tasks have {@link FAILURES_PER_MINUTE} lines a minute
   * of each family at info, as `refusedRun` has, and faults of the service as many at error; the records have all of them.
   */
  run(family: string, names: RunNames, client: string, error: unknown): void;
  /**
   * Logs a run that was refused before it counted against a limit. The first refusals of a family in a minute are logged at
   * info (`overloaded` at error), and the others at debug. The first line of a minute has the number of omitted lines before
   * it as `leftOut`.
   */
  refusedRun(family: string, names: RunNames, client: string, error: unknown): void;
  /**
   * Logs that a connection of a client network was closed: at most one line a minute for each network, and ten for all networks.
   *
   * @param why what the network has or does, such as `has 64 open, which is its share`
   */
  refusedConnection(network: string, why: string): void;
  /** Logs a line that a task wrote to its console. @param text called only if the line is logged. */
  task(names: RunNames, level: number, text: () => string): void;
  /** Logs a failure that is not in the answer of its run, as `run` does. @param again whether the run has logged a failure before. */
  lateError(family: string, names: RunNames, problem: Problem, again: boolean): void;
  /** Logs a destination that a task may not reach. The caller limits the number of these lines. */
  refused(names: RunNames, refusal: object): void;
  /** Logs an action of an administrator, for the audit. */
  audit(what: string, details: Readonly<Record<string, unknown>>): void;
}

export function openLog(level: Config["logLevel"]): Log {
  const output = new LogOutput(STDERR);
  const formatters = { level: (label: string): object => ({ level: label }) };
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters }, output);
  const failures = new LineShare(FAILURES_PER_MINUTE);
  // Apart from the failures of tasks, which must not hide them.
  const faults = new LineShare(FAILURES_PER_MINUTE);
  const refusals = new LineShare(REFUSALS_PER_MINUTE);
  // Apart from the others, which must not hide it. A caller who sends more bodies than fit causes any number of these.
  const overloads = new LineShare(REFUSALS_PER_MINUTE);
  const crowds = new LineShare(1);
  const allCrowds = new LineShare(REFUSALS_PER_MINUTE);
  /** Logs a line at debug if its family has no share left, otherwise at the level. */
  const shared = (share: LineShare, family: string, atLevel: "info" | "error", line: object, text: string): void => {
    const leftOut = share.admit(family, performance.now());
    logger[leftOut === null ? "debug" : atLevel](leftOut ? { ...line, leftOut } : line, brief(text));
  };
  const failed: Log["run"] = (family, names, client, error) => {
    if (!(error instanceof Problem)) return logger.error({ ...names, client, err: error }, "run failed");
    const { code, status } = error;
    const line = { ...names, client, code, status, cause: causeOf(error) };
    if (error.fault === "service" && !CAUSED_BY_RUNS.has(code)) shared(faults, family, "error", line, error.message);
    else shared(failures, family, "info", line, error.message);
  };
  return {
    pino: logger,
    get losses() {
      return output.losses;
    },
    run: failed,
    refusedRun: (family, names, client, error) => {
      const isOverload = error instanceof Problem && error.code === "overloaded";
      if (!(error instanceof Problem) || (error.fault === "service" && !isOverload)) {
        return failed(family, names, client, error);
      }
      const { code, status } = error;
      const line = { ...names, client, code, status };
      if (isOverload) shared(overloads, family, "error", line, error.message);
      else shared(refusals, family, "info", line, error.message);
    },
    refusedConnection: (network, why) => {
      const nowMs = performance.now();
      const leftOut = crowds.admit(network, nowMs);
      if (leftOut === null || allCrowds.admit(ALL, nowMs) === null) return;
      logger.warn(
        leftOut ? { client: network, leftOut } : { client: network },
        `new connections are closed: the network of the client ${why}; if it is a proxy, name it with --trust-proxy`,
      );
    },
    // At debug for every level of the task, because a task must not fill the log of the service.
    task: (names, taskLevel, text) => {
      if (!logger.isLevelEnabled("debug")) return;
      logger.debug({ ...names, taskLevel: LOG_LEVELS[taskLevel] }, text());
    },
    // One line for each run at info. A run may cause any number of rejections.
    lateError: (family, names, problem, again) => {
      const { name, message = "", stack = "" } = problem.options.error ?? {};
      const error =
        name === undefined ? undefined : { name: brief(name), message: brief(message), stack: brief(stack) };
      const line = { ...names, code: problem.code, error };
      if (again) logger.debug(line, brief(problem.message));
      else shared(failures, family, "info", line, problem.message);
    },
    // At info, because a task must not trigger alarms that operators set on warnings.
    refused: (names, refusal) => {
      logger.info({ ...names, ...refusal }, "egress refused");
    },
    audit: (what, details) => logger.info(details, what),
  };
}

function brief(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}...` : text;
}

function causeOf(problem: Problem): string | undefined {
  return problem.cause instanceof Error ? problem.cause.message : undefined;
}
