import { one, type Settings } from "../setting.ts";
import { integer, size } from "../values.ts";

export interface QuotaConfig {
  readonly tokenContainers: number | null;
  readonly tokenConcurrency: number;
  readonly tokenNewContainers: number;
  readonly familyTokens: number;
  readonly familyIssues: number;
  readonly familyChecks: number;
  readonly familyRequests: number;
  readonly familySecrets: number;
  readonly familyTasks: number;
  readonly familyTaskBytes: number;
}

/** A family is a token that an administrator issued and all tokens below it: a cap of each token would not hold it. */
export const QUOTAS: Settings<QuotaConfig> = {
  tokenContainers: one<number | null>(
    "--token-containers <number>",
    null,
    "live guests of one token family, administrators included; default 16, and at most half of --max-containers; stops a " +
      "token that keeps a thousand containers alive",
    integer(1, 100_000),
  ),
  tokenConcurrency: one(
    "--token-concurrency <number>",
    128,
    "runs in flight of one token family, administrators included; stops a token that takes the places of many",
    integer(1, 1_000_000),
  ),
  tokenNewContainers: one(
    "--token-new-containers <number>",
    60,
    "containers that one token family, administrators included, starts in a minute; the guests of fresh tokens count too; " +
      "stops a token that uses one name after another",
    integer(1, 1_000_000),
  ),
  familyTokens: one(
    "--family-tokens <number>",
    1_000,
    "unexpired tokens of one token family, revoked tokens included; stops a token that fills the disk with records of tokens",
    integer(1, 100_000),
  ),
  familyRequests: one(
    "--family-requests <number>",
    32,
    "requests to the API under way of one token family, without live events; administrators have no limit; stops a " +
      "customer that fills the memory with answers",
    integer(1, 1_000_000),
  ),
  familyIssues: one(
    "--family-issues <number>",
    60,
    "changes that one token family makes in a minute: tokens issued, tasks changed, secrets replaced, packages " +
      "built without a run, containers restarted; stops a token that keeps the service busy with signatures and writes",
    integer(1, 1_000_000),
  ),
  familyChecks: one(
    "--family-checks <number>",
    120,
    "syntax checks of code that one token family makes in a minute, as editors do while their user types; stops a token " +
      "that keeps the machine busy with code that it never runs",
    integer(1, 1_000_000),
  ),
  familySecrets: one(
    "--family-secrets <size>",
    2 ** 20,
    "stored secrets of one token family; stops a token that fills the disk with secrets",
    size(1_024),
  ),
  familyTasks: one(
    "--family-tasks <number>",
    1_000,
    "named tasks of one token family, in all containers; stops a token for acme-* that fills one container after another",
    integer(1, 100_000),
  ),
  familyTaskBytes: one(
    "--family-task-bytes <size>",
    64 * 2 ** 20,
    "stored size of the named tasks of one token family, earlier versions included; stops a token that fills the disk with code",
    size(1_024),
  ),
};
