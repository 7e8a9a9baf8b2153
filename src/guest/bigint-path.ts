import { types } from "node:util";

import { uncurry } from "../wire/uncurry.ts";

/** The values that are looked at, and their depth. */
const MAX_VALUES = 10_000;
const MAX_DEPTH = 32;
const { getOwnPropertyDescriptor, keys } = Object;
const { isArray } = Array;
const { isProxy } = types;
const matches = uncurry(RegExp.prototype, "exec");
const NAME = /^[A-Za-z_$][\w$]{0,63}$/;

/**
 * Returns the path of the first BigInt in a value, such as `.total` or `.rows[0]`; an empty text if the value is one, and null if none is
 * found, or if its path has an unusual name. Calls no code of the task: getters and proxies are skipped.
 */
export function bigIntPath(value: unknown): string | null {
  return find(value, "", 0, { left: MAX_VALUES });
}

function find(value: unknown, path: string, depth: number, search: { left: number }): string | null {
  if (typeof value === "bigint") return path;
  if (typeof value !== "object" || value === null || depth === MAX_DEPTH || isProxy(value)) return null;
  const isList = isArray(value);
  const names = isList ? null : keys(value);
  const count = names === null ? (value as unknown[]).length : names.length;
  for (let index = 0; index < count && search.left > 0; index += 1) {
    search.left -= 1;
    const name = names === null ? `${index}` : names[index]!;
    const member = getOwnPropertyDescriptor(value, name);
    if (member === undefined || !("value" in member)) continue;
    const step = isList ? `[${name}]` : matches(NAME, name) === null ? null : `.${name}`;
    if (step === null) continue;
    const found = find(member.value, path + step, depth + 1, search);
    if (found !== null) return found;
  }
  return null;
}
