import { PRESETS } from "../../tokens/presets.ts";
import { UsageError } from "../exits.ts";

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
  const { can, expiresIn, limits, timeout, net } = preset;
  return {
    can,
    ...(members["exp"] === undefined && { expiresIn }),
    ...(limits && { limits: { token: limits } }),
    ...(timeout !== undefined && { timeout }),
    ...(net !== undefined && { net }),
    ...members,
    labels: { [LABEL]: key, ...(members["labels"] as object | undefined) },
  };
}
