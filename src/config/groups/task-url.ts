import { one, type Settings } from "../setting.ts";
import { duration, integer, size } from "../values.ts";

export interface TaskUrlConfig {
  readonly taskUrlLimit: number;
  readonly taskUrlCache: number;
  readonly taskUrlCacheEntries: number;
  readonly taskUrlCacheTime: number;
}

export const TASK_URL: Settings<TaskUrlConfig> = {
  taskUrlLimit: one("--task-url-limit <characters>", 2_048, "stops a task_url of any length", integer(16, 16_000)),
  taskUrlCache: one(
    "--task-url-cache <size>",
    32 * 2 ** 20,
    "memory for responses of task_url that may be kept; 0B keeps nothing; stops a client that fetches much from " +
      "exhausting memory",
    size(0),
  ),
  taskUrlCacheEntries: one(
    "--task-url-cache-entries <number>",
    1_024,
    "number of responses of task_url that are kept; stops a client that fetches many small ones",
    integer(0, 1_000_000),
  ),
  taskUrlCacheTime: one(
    "--task-url-cache-time <duration>",
    60_000,
    "longest time that a response of task_url is used without another request, whatever its Cache-Control allows; stops " +
      "code that was fixed or withdrawn from running on",
    duration(0),
  ),
};
