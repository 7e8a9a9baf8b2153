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
    "time for which records of runs stay on disk; 0s keeps none",
    duration(0),
  ),
  runsSize: one(
    "--runs-size <size>",
    2 ** 30,
    "disk for all records of runs; the oldest days are removed first; stops tasks that fill the disk with what they print",
    size(2 ** 20),
  ),
  runsRate: one(
    "--runs-rate <size>",
    2 ** 20,
    "records that one token family, and one container, writes in a minute; stops a task that floods the records",
    size(1_024),
  ),
  familyRuns: one(
    "--family-runs <size>",
    64 * 2 ** 20,
    "records that one token family writes in a day; stops a customer that removes the history of others",
    size(1_024),
  ),
  recentRuns: one(
    "--recent-runs <size>",
    64 * 2 ** 20,
    "memory for the latest records of all containers; the least recently used records are removed first",
    size(2 ** 20),
  ),
  containerRuns: one(
    "--container-runs <number>",
    200,
    "latest records of one container in memory; stops a container that runs often from removing the records of others",
    integer(1, 10_000),
  ),
  consoleLimit: one(
    "--console-limit <size>",
    64 * 2 ** 10,
    "console lines that the service keeps of one run, and in memory of one container; stops a task that prints without end",
    size(1_024),
  ),
  inputLimit: one(
    "--input-limit <size>",
    64 * 2 ** 10,
    "beginning of the input that a record keeps, for a task with record: input; stops callers that fill the history with " +
      "their input",
    size(1_024, 16 * 2 ** 20),
  ),
  diskQueue: one(
    "--disk-queue <size>",
    16 * 2 ** 20,
    "memory for records that wait for the disk, and as much for each of usage, audit and --log-drain; one token family " +
      "uses at most three times the free rest; stops a slow disk or collector from filling the memory",
    size(2 ** 20, 4 * 2 ** 30),
  ),
  eventReaders: one(
    "--event-readers <number>",
    512,
    "open event streams of all clients; each takes a connection and some hundred kilobytes",
    integer(1, 100_000),
  ),
  familyEventReaders: one(
    "--family-event-readers <number>",
    32,
    "open event streams of one token family; stops a customer that takes the streams of others",
    integer(1, 100_000),
  ),
  eventHistory: one(
    "--event-history <size>",
    64 * 2 ** 10,
    "live events of one container in memory, for clients that connect again; a client may leave four times as much unread; " +
      "stops a container that prints much from filling the memory",
    size(1_024, 64 * 2 ** 20),
  ),
  waitingReads: one(
    "--waiting-reads <number>",
    256,
    "reads of records that wait, of all clients, and as many reads of usage and of other nodes; stops clients that fill " +
      "the memory with reads",
    integer(1, 100_000),
  ),
  familyReads: one(
    "--family-reads <number>",
    8,
    "waiting reads of one token family, as a part of --waiting-reads; stops a customer that keeps the reader busy",
    integer(1, 256),
  ),
  readsAtOnce: one(
    "--reads-at-once <number>",
    8,
    "reads of usage, and of other nodes, at a time; one token family has one of usage and half of those of other nodes; " +
      "stops reads that fill the memory with their answers",
    integer(1, 256),
  ),
  countedFamilies: one(
    "--counted-families <number>",
    10_000,
    "token families whose records are counted separately in a minute, and as many containers and client networks; usage " +
      "names five times as many in an hour; stops callers that fill the memory with names",
    integer(10, 1_000_000),
  ),
  familyContainers: one(
    "--family-containers <number>",
    10_000,
    "containers of one token family that usage names in an hour; for the omitted runs of a day it names a tenth; further " +
      "ones count as (other); stops a caller that uses one name after another",
    integer(1, 1_000_000),
  ),
  usageRows: one(
    "--usage-rows <number>",
    1_000_000,
    "hours of usage that are kept of one token family, and minutes of all; the oldest hours lose their names and keep " +
      "their sums; stops a customer that fills the disk with new names for a year",
    integer(1_000, 1_000_000_000),
  ),
  auditEntries: one(
    "--audit-entries <number>",
    1_000_000,
    "audit entries of administrators and of the service; one token family has a tenth; the oldest entries are removed " +
      "first; stops a customer that fills the disk with changes",
    integer(10, 1_000_000_000),
  ),
  logDrain: one<DrainTarget | null>(
    "--log-drain <target>",
    null,
    "additional target of each record, as a line of JSON: stdout, file:PATH, or the https URL of a collector",
    drainTarget,
  ),
  logDrainRate: one(
    "--log-drain-rate <size>",
    8 * 2 ** 20,
    "records of one token family, and of one container, that --log-drain receives in a minute; stops a task that floods " +
      "the collector",
    size(1_024),
  ),
  logDrainAuthorization: one<string | null>(
    "--log-drain-authorization <file>",
    null,
    "file with the Authorization header for the collector of --log-drain, such as: Bearer <token>",
    file,
  ),
};
