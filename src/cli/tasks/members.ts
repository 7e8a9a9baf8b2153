import { UsageError } from "../exits.ts";
import { packagesOf } from "../package-flags.ts";
import { notPair } from "../pairs.ts";

/** The flags of `tasks deploy`, as commander gives them. */
export interface DeployFlags {
  readonly name?: string;
  readonly public?: boolean;
  readonly timeout?: string;
  readonly param?: readonly string[];
  readonly secret?: readonly string[];
  readonly net?: readonly string[];
  readonly package?: readonly string[];
  readonly update?: readonly string[];
  readonly label?: readonly string[];
  readonly description?: string;
  readonly expires?: string;
  readonly bundle?: true;
  readonly dryRun?: true;
}

/** Returns the members of a task that the flags set. @throws {UsageError} */
export function membersOf(flags: DeployFlags): Record<string, unknown> {
  const { timeout, param, net, label, description, expires, update } = flags;
  const members = {
    ...{ public: flags.public, timeout, net, description },
    ...{ packages: packagesOf(flags.package, "--package"), update: update?.flatMap((list) => list.split(",")) },
    ...{ expiresIn: expires, params: pairsOf("--param", param), labels: pairsOf("--label", label) },
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Reads texts such as `plan=pro`. @throws {UsageError} */
export function pairsOf(flag: string, texts: readonly string[] | undefined): Record<string, string> | undefined {
  if (texts === undefined) return undefined;
  const pairs = texts.map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at < 1) throw new UsageError(notPair(flag, text, "name=value"));
    return [text.slice(0, at), text.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}
