import { SETTING_GROUPS } from "../config.ts";
import { ConfigError } from "../config/read.ts";

/** Flags that are no settings, which users type after `npm run caisson`. */
const OTHERS = ["--input", "--query", "--container", "--bundle", "--admin"];
/** Names of npm settings, which npm may export to every script. */
const OF_NPM = new Set(["user", "offline", "config"]);

/**
 * Refuses flags that npm took for itself: `npm start --port 80` starts a service without the flag, and a limit or a policy that
 * is not in force is a matter of safety.
 *
 * @throws {ConfigError} that names the flags
 */
export function refuseFlagsOfNpm(environment: Readonly<Record<string, string | undefined>>): void {
  const script = environment["npm_lifecycle_event"];
  if (script !== "start" && script !== "caisson") return;
  const settings = Object.values(SETTING_GROUPS).flatMap((group) => Object.values(group));
  const flags = [...settings.map(({ flag }) => flag.split(" ", 1)[0]!), ...OTHERS];
  const taken = flags.filter((flag) => {
    const name = flag.replace(/^--(?:no-)?/, "").replaceAll("-", "_");
    return !OF_NPM.has(name) && environment[`npm_config_${name}`] !== undefined;
  });
  if (taken.length === 0) return;
  const command = script === "start" ? "npm start" : "npm run -s caisson";
  throw new ConfigError(
    `npm has taken ${taken.join(", ")} for itself; npm needs -- before the flags: ${command} -- ${taken[0]} ...`,
  );
}
