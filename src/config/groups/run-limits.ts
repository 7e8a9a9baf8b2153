import { one, type Settings } from "../setting.ts";
import { duration, integer, size } from "../values.ts";

export interface RunLimitConfig {
  readonly wallLimit: number;
  readonly blockLimit: number;
  readonly streamLimit: number;
  readonly codeLimit: number;
  readonly resultLimit: number;
  readonly jsonDepthLimit: number;
  readonly logLimit: number;
  readonly logRate: number;
}

export const RUN_LIMITS: Settings<RunLimitConfig> = {
  wallLimit: one(
    "--wall-limit <duration>",
    30_000,
    "longest time until a run answers; stops a run that never ends",
    duration(10),
  ),
  blockLimit: one(
    "--block-limit <duration>",
    2_000,
    "longest time without a turn of the event loop; stops a run that blocks its container",
    duration(100),
  ),
  streamLimit: one(
    "--stream-limit <duration>",
    300_000,
    "longest time until a streamed result is complete; stops a result that streams for ever",
    duration(10),
  ),
  codeLimit: one(
    "--code-limit <size>",
    2 ** 20,
    "size of submitted code; stops bodies that exhaust the service's memory",
    size(1),
  ),
  resultLimit: one(
    "--result-limit <size>",
    6 * 2 ** 20,
    "size of a result that is not streamed; stops results that exhaust the service's memory",
    size(1),
  ),
  jsonDepthLimit: one(
    "--json-depth-limit <levels>",
    64,
    "nesting of JSON in a request; stops JSON that exhausts the stack",
    integer(1, 1_000),
  ),
  logLimit: one(
    "--log-limit <size>",
    256 * 2 ** 10,
    "console output of one run; stops a run that fills the log",
    size(1_024),
  ),
  logRate: one(
    "--log-rate <lines>",
    1_000,
    "console lines a second of one run; stops a run that floods the readers of the log",
    integer(1, 1_000_000),
  ),
};
