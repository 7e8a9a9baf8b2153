import { UsageError } from "../exits.ts";

/** The members that a preset sets, unless a flag sets them. */
interface Preset {
  readonly does: string;
  readonly can: readonly string[];
  readonly expires: string;
  readonly limits: Readonly<Record<string, number>>;
  readonly timeout?: string;
}

/** Tokens that operators issue often, with the least that their holders need. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  customer: {
    does: "runs code, keeps tasks and reads their logs in the customer's container",
    can: ["run", "limits", "tasks", "logs"],
    expires: "90d",
    limits: { minute: 60, day: 10_000 },
  },
  "webhook-owner": {
    does: "keeps public tasks, which end with this token, and reads their logs",
    can: ["run", "tasks", "logs"],
    expires: "365d",
    limits: { minute: 600 },
  },
  agent: {
    does: "runs the code of an agent for a day, each run for at most 30 s, and sees what is left",
    can: ["run", "limits"],
    expires: "24h",
    limits: { minute: 60, day: 5_000 },
    timeout: "30s",
  },
  "log-reader": {
    does: "reads records, logs and usage, and runs nothing",
    can: ["logs"],
    expires: "90d",
    limits: {},
  },
};

/** The label by which `tokens list` finds the tokens of a preset. */
const LABEL = "preset";

/** Returns the members of a token with those of the preset that the flags have not set. @throws {UsageError} */
export function withPreset(name: string, members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const key = name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, "-");
  const preset = Object.hasOwn(PRESETS, key) ? PRESETS[key] : undefined;
  if (!preset)
    throw new UsageError(`--preset ${JSON.stringify(name)}: the presets are ${Object.keys(PRESETS).join(", ")}`);
  if (members["admin"]) throw new UsageError("--preset and --admin exclude each other");
  const { can, expires, limits, timeout } = preset;
  const isLimited = Object.keys(limits).length > 0;
  return {
    can,
    ...(members["exp"] === undefined && { expiresIn: expires }),
    ...(isLimited && { limits: { token: limits } }),
    ...(timeout !== undefined && { timeout }),
    ...members,
    labels: { [LABEL]: key, ...(members["labels"] as object | undefined) },
  };
}
