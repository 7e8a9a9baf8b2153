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
  readonly inputLimit: number;
  readonly diskQueue: number;
  readonly eventReaders: number;
  readonly familyEventReaders: number;
  readonly eventHistory: number;
  readonly waitingReads: number;
  readonly familyReads: number;
  readonly readsAtOnce: number;
  readonly countedFamilies: number;
  readonly familyContainers: number;
  readonly usageRows: number;
  readonly auditEntries: number;
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
  inputLimit: one(
    "--input-limit <size>",
    64 * 2 ** 10,
    "the beginning of the input that a record keeps, of a task with record: input; stops callers that fill the history with " +
      "what they send",
    size(1_024, 16 * 2 ** 20),
  ),
  diskQueue: one(
    "--disk-queue <size>",
    16 * 2 ** 20,
    "memory for records that wait for the disk, and as much for each of usage, audit and --log-drain; a token with all tokens " +
      "below it has at most three times what is free: stops a disk or collector that stands still from filling the memory",
    size(2 ** 20, 4 * 2 ** 30),
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
  eventHistory: one(
    "--event-history <size>",
    64 * 2 ** 10,
    "live events of one container in memory, for clients that connect again; a client may leave four times as much unread: stops " +
      "a container whose runs print much",
    size(1_024, 64 * 2 ** 20),
  ),
  waitingReads: one(
    "--waiting-reads <number>",
    256,
    "reads of records that wait, of all clients, and as many reads of usage and of other nodes: stops many clients that fill the " +
      "memory with reads",
    integer(1, 100_000),
  ),
  familyReads: one(
    "--family-reads <number>",
    8,
    "the part of --waiting-reads of a token with all tokens below it: stops a customer that keeps the reader busy",
    integer(1, 256),
  ),
  readsAtOnce: one(
    "--reads-at-once <number>",
    8,
    "reads of usage, and of other nodes, at once; a token with all tokens below it has one of usage and half of those of other " +
      "nodes: stops reads that fill the memory with their answers",
    integer(1, 256),
  ),
  countedFamilies: one(
    "--counted-families <number>",
    10_000,
    "tokens with all tokens below them whose records are counted apart in a minute, and as many containers and networks of " +
      "clients; five times as many names in the usage of an hour: stops callers that fill the memory with names",
    integer(10, 1_000_000),
  ),
  familyContainers: one(
    "--family-containers <number>",
    10_000,
    "containers of a token with all tokens below it that the usage names in an hour; a tenth of them in the omitted runs of a " +
      "day; the further ones count as (other): stops a caller that uses one name after the other",
    integer(1, 1_000_000),
  ),
  usageRows: one(
    "--usage-rows <number>",
    1_000_000,
    "hours that the usage keeps of a token with all tokens below it, and minutes of all: stops a customer that fills the disk " +
      "with new names for a year; the oldest hours lose their names and keep their sums",
    integer(1_000, 1_000_000_000),
  ),
  auditEntries: one(
    "--audit-entries <number>",
    1_000_000,
    "entries of the audit of administrators and of the service; a token with all tokens below it has a tenth: stops a customer " +
      "that fills the disk with changes; the oldest go first",
    integer(10, 1_000_000_000),
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
