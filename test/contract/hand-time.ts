/** Loaded before the service, this lets its counts in Redis go by a time that a test has in its hands. */
import { RedisLink, redisScript, type Script } from "../../src/redis/link.ts";

/** Where Redis keeps it, in Unix milliseconds. */
export const HAND_KEY = "hand";

const OWN_TIME = "local now = raw";
const HAND_TIME = `local now = tonumber(redis.call("GET", "${HAND_KEY}"))`;

type Run = RedisLink["run"];

const handed = new Map<Script, Script>();

function byHand(script: Script): Script {
  const known = handed.get(script) ?? redisScript(script.text.replace(OWN_TIME, HAND_TIME));
  handed.set(script, known);
  return known;
}

for (const name of ["run", "runPacked"] as const) {
  const own = Object.getOwnPropertyDescriptor(RedisLink.prototype, name)!.value as Run;
  const changed: Run = function (this: RedisLink, script, ...rest) {
    return own.call(this, byHand(script), ...rest);
  };
  Object.defineProperty(RedisLink.prototype, name, { value: changed });
}
