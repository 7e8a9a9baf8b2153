import type { Config } from "../config.ts";
import { describePlace } from "../config/redis-place.ts";
import { examineEgress } from "../egress/examine-egress.ts";
import type { Finding } from "../finding.ts";
import { keepingOf } from "../redis/durability.ts";
import { redisFindings } from "../redis/redis-findings.ts";
import type { RedisLink } from "../redis/redis-link.ts";
import { examineNode, examinePlatform } from "../sandbox/machine.ts";
import type { SandboxFacts } from "../sandbox/sandbox.ts";
import type { Check } from "../sandbox/self-test/check.ts";
import { sandboxFindings } from "../sandbox/self-test/sandbox-findings.ts";

/**
 * Returns what `caisson doctor` reports, of a running service: what the start has found of the machine and the sandbox, and the
 * state of Redis now.
 *
 * @param checks the results of the attacks that the start made; empty without a sandbox
 */
export function openFindings(
  config: Config,
  facts: SandboxFacts,
  checks: readonly Check[],
  link: RedisLink | null,
): () => Promise<Finding[]> {
  const machine = [examinePlatform(), examineNode(), ...sandboxFindings(facts, checks)];
  let egress: Promise<Finding> | null = null;
  return async () => {
    // At the first question, because its test takes 5 ms of a start.
    egress ??= examineEgress(config);
    return [...machine, user(), await egress, ...(link === null ? [] : await ofRedis(config, link))];
  };
}

/** The service has given up root before it serves, if it could. */
function user(): Finding {
  const layer = "root given up";
  const uid = process.getuid?.() ?? -1;
  if (uid !== 0) return { layer, state: "held", proof: `the service is user ${uid}` };
  const remedy =
    "start the service as a user, or give root CAP_SETUID, CAP_SETGID, CAP_CHOWN and CAP_KILL to become one";
  return { layer, state: "weak", proof: "the service is root", remedy };
}

async function ofRedis({ redis, redisPasswordFile }: Config, link: RedisLink): Promise<Finding[]> {
  const place = redis!;
  const layer = "Redis";
  if (link.lost !== null) {
    const proof = `${describePlace(place)} does not answer: ${link.lost.message}`;
    return [{ layer, state: "open", proof, remedy: "start it, or repair the network to it" }];
  }
  const keeping = await keepingOf(link);
  const proof = `${describePlace(place)}${keeping.version === null ? "" : `: ${keeping.version}`}, it answers`;
  const hasPassword = place.password !== null || redisPasswordFile !== null;
  return [{ layer, state: "held", proof }, ...redisFindings(place, hasPassword, keeping)];
}
