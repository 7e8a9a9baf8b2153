import { type DrainTarget, drainTarget } from "../drain-target.ts";
import { one, type Settings } from "../setting.ts";
import { duration, file, integer, size } from "../values.ts";

export interface RecordConfig {
  readonly keepRuns: number;
  readonly runsSize: number;
  readonly runsRate: number;
  readonly familyRuns: number;
  readonly recentRuns: number;
  readonly containerRuns: number;
  readonly consoleLimit: number;
  readonly eventReaders: number;
  readonly familyEventReaders: number;
  readonly familyReads: number;
  readonly familyContainers: number;
  readonly nodeAnswers: number;
  readonly logDrain: DrainTarget | null;
  readonly logDrainRate: number;
  readonly logDrainAuthorization: string | null;
}

export const RECORDS: Settings<RecordConfig> = {
  keepRuns: one(
    "--keep-runs <duration>",
    7 * 86_400_000,
    "how long records of runs are kept on disk; 0s keeps none",
    duration(0),
  ),
  runsSize: one(
    "--runs-size <size>",
    2 ** 30,
    "disk of all records of runs: the oldest days go first; stops tasks that fill the disk with what they print",
    size(2 ** 20),
  ),
  runsRate: one(
    "--runs-rate <size>",
    2 ** 20,
    "records written a minute for a token with all tokens below it, and for a container: stops a task that floods the records",
    size(1_024),
  ),
  familyRuns: one(
    "--family-runs <size>",
    64 * 2 ** 20,
    "records a day of a token with all tokens below it: stops a customer that pushes out the history of others",
    size(1_024),
  ),
  recentRuns: one(
    "--recent-runs <size>",
    64 * 2 ** 20,
    "memory for the latest records of all containers, the least recently used go first",
    size(2 ** 20),
  ),
  containerRuns: one(
    "--container-runs <number>",
    200,
    "the latest records of one container in memory: stops a container that runs often from pushing out others",
    integer(1, 10_000),
  ),
  consoleLimit: one(
    "--console-limit <size>",
    64 * 2 ** 10,
    "console lines that the service keeps of one run, and in memory of one container: stops a task that prints without end",
    size(1_024),
  ),
  eventReaders: one(
    "--event-readers <number>",
    512,
    "live streams of events that clients read at once: each has a connection and some hundred kilobytes",
    integer(1, 100_000),
  ),
  familyEventReaders: one(
    "--family-event-readers <number>",
    32,
    "live streams of a token with all tokens below it: stops a customer that takes the streams of others",
    integer(1, 100_000),
  ),
  familyReads: one(
    "--family-reads <number>",
    8,
    "reads of records and usage that wait, of a token with all tokens below it: stops a customer that keeps the reader busy",
    integer(1, 256),
  ),
  familyContainers: one(
    "--family-containers <number>",
    10_000,
    "containers of a token with all tokens below it that the usage names in an hour; the usage counts the further ones as (other)",
    integer(1, 10_000),
  ),
  nodeAnswers: one(
    "--node-answers <size>",
    64 * 2 ** 20,
    "memory for answers of other nodes while they arrive; a token with all tokens below it has three eighths",
    size(2 ** 20),
  ),
  logDrain: one<DrainTarget | null>(
    "--log-drain <target>",
    null,
    "where each record is also sent, as a line of JSON: stdout, file:PATH, or the https URL of a collector",
    drainTarget,
  ),
  logDrainRate: one(
    "--log-drain-rate <size>",
    8 * 2 ** 20,
    "records sent to --log-drain a minute for a token with all tokens below it, and for a container: stops a task that floods it",
    size(1_024),
  ),
  logDrainAuthorization: one<string | null>(
    "--log-drain-authorization <file>",
    null,
    "file with the Authorization header for the collector of --log-drain, such as: Bearer <token>",
    file,
  ),
};
