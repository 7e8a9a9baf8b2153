import { one, type Settings } from "../setting.ts";
import { duration, integer, size } from "../values.ts";

export interface ContainerConfig {
  readonly concurrency: number;
  readonly maxContainers: number | null;
  readonly containerParties: number;
  readonly containerTasks: number;
  readonly idleLimit: number;
  readonly pool: number;
  readonly poolWindow: number;
  readonly memoryReserve: number;
}

export const CONTAINERS: Settings<ContainerConfig> = {
  concurrency: one(
    "--concurrency <number>",
    64,
    "runs in flight of one container; stops a container that takes all of the service",
    integer(1, 10_000),
  ),
  maxContainers: one<number | null>(
    "--max-containers <number>",
    null,
    "live guests; by default as many as at least three quarters of the free memory hold at 32MiB each; stops containers that take all memory",
    integer(1, 100_000),
  ),
  containerParties: one(
    "--container-parties <number>",
    32,
    "guests of one container; stops a container that many tokens with different code share from taking all guests",
    integer(1, 100_000),
  ),
  containerTasks: one(
    "--container-tasks <number>",
    1_000,
    "named tasks of one container; stops a token that fills the disk with tasks",
    integer(1, 1_000_000),
  ),
  idleLimit: one(
    "--idle-limit <duration>",
    60_000,
    "time without a run after which a container is closed; stops containers that were used once and hold memory",
    duration(100),
  ),
  pool: one(
    "--pool <number>",
    4,
    "spare guests that are warm for new containers; the pool grows to eight times this number while many containers come " +
      "and memory is free",
    integer(0, 1_000),
  ),
  poolWindow: one(
    "--pool-window <duration>",
    30_000,
    "period over which new containers are counted: the pool keeps as many spare guests",
    duration(1_000),
  ),
  memoryReserve: one(
    "--memory-reserve <size>",
    128 * 2 ** 20,
    "memory of the machine that stays free; below it a guest starts only after another has ended: first idle guests end, of the " +
      "token family that holds the most memory, then guests at work of a family that holds four times as much as the one that " +
      "needs a guest; stops containers that together take all memory",
    size(0),
  ),
};
