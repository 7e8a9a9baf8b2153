/** Loaded before the service. Its limits in Redis then use a clock that a test controls. */
import { RedisLink, redisScript, type Script } from "../../src/redis/redis-link.ts";

/** The key in Redis of that clock, in Unix milliseconds. */
export const HAND_KEY = "hand";

const REDIS_TIME = "local now = raw";
const TEST_TIME = `local now = tonumber(redis.call("GET", "${HAND_KEY}"))`;

type Run = RedisLink["run"];

const replaced = new Map<Script, Script>();

function withTestClock(script: Script): Script {
  const known = replaced.get(script) ?? redisScript(script.text.replace(REDIS_TIME, TEST_TIME));
  replaced.set(script, known);
  return known;
}

for (const name of ["run", "runPacked"] as const) {
  const own = Object.getOwnPropertyDescriptor(RedisLink.prototype, name)!.value as Run;
  const changed: Run = function (this: RedisLink, script, ...rest) {
    return own.call(this, withTestClock(script), ...rest);
  };
  Object.defineProperty(RedisLink.prototype, name, { value: changed });
}
