/** Loaded before the service, this lets its counts in Redis go by a time that a test has in its hands. */
import { RedisLink, redisScript, type Script } from "../../src/redis/link.ts";

/** Where Redis keeps it, in Unix milliseconds. */
export const HAND_KEY = "hand";

const OWN_TIME = "local now = raw";
const HAND_TIME = `local now = tonumber(redis.call("GET", "${HAND_KEY}"))`;

const { run, runPacked } = RedisLink.prototype;
const handed = new Map<Script, Script>();

function byHand(script: Script): Script {
  const known = handed.get(script) ?? redisScript(script.text.replace(OWN_TIME, HAND_TIME));
  handed.set(script, known);
  return known;
}

RedisLink.prototype.run = function (script, keys, words) {
  return run.call(this, byHand(script), keys, words);
};
RedisLink.prototype.runPacked = function (script, keys, words) {
  return runPacked.call(this, byHand(script), keys, words);
};
