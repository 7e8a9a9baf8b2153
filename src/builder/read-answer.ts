import semver from "semver";

import {
  type Answer,
  type BuiltPackage,
  FAILURE_CODES,
  type FailureCode,
  MAX_PACKAGES,
} from "../bundler/build-messages.ts";
import { isPackageName } from "../package-names.ts";

const MAX_TEXT = 4_096;
const MAX_VERSION = 128;
const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/;

/** The longest line that is parsed without a look at its shape. The longest failure has about this length. */
const SHORT_CHARS = 65_536;
/** The most members of all `dependencies` and `roots` together: 200 packages that depend on 25 others each. */
const MAX_KEYS = 5_000;

type Keys = Readonly<Record<string, string>>;

/** Reads the first line of a builder's answer. A builder may have been taken over. @returns null if it is not an honest answer. */
export function readAnswer(line: string): Answer | null {
  if (line.length > SHORT_CHARS && !isShapedAsBuilt(line)) return null;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  // Each check ends at the first fault. A schema that collects all faults takes a second for a hundred thousand of them.
  if (!isObject(value)) return null;
  switch (value["is"]) {
    case "built":
      return isBuilt(value) ? value : null;
    case "transformed":
      return isTransformed(value) ? value : null;
    case "rejected":
      return isRejected(value) ? value : null;
    case "failed":
      return isFailed(value) ? value : null;
    default:
      return null;
  }
}

/** Whether a line has few objects and one array. Parsing 100,000 nested ones would hold up the service. */
function isShapedAsBuilt(line: string): boolean {
  return hasAtMost(line, "[", 1) && hasAtMost(line, "{", 2 * MAX_PACKAGES + 2);
}

function hasAtMost(text: string, character: string, most: number): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1))
    if (++count > most) return false;
  return true;
}

function isBuilt(value: Record<string, unknown>): value is Extract<Answer, { is: "built" }> {
  if (!hasOnly(value, ["is", "packages", "roots"])) return false;
  const { packages, roots } = value;
  if (!Array.isArray(packages) || packages.length > MAX_PACKAGES || !packages.every(isLockedPackage)) return false;
  return isObject(roots) && isWhole(packages, roots);
}

function isLockedPackage(value: unknown): value is BuiltPackage {
  if (!isObject(value) || !hasOnly(value, ["name", "version", "integrity", "dependencies"])) return false;
  const { name, version, integrity, dependencies } = value;
  return (
    typeof name === "string" &&
    isPackageName(name) &&
    isVersion(version) &&
    isIntegrity(integrity) &&
    isObject(dependencies)
  );
}

function isTransformed(value: Record<string, unknown>): value is Extract<Answer, { is: "transformed" }> {
  const { lengths } = value;
  return hasOnly(value, ["is", "lengths"]) && Array.isArray(lengths) && lengths.every(isCount);
}

function isRejected(value: Record<string, unknown>): value is Extract<Answer, { is: "rejected" }> {
  return hasOnly(value, ["is", "at", "detail"]) && isCount(value["at"]) && isText(value["detail"]);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isFailed(value: Record<string, unknown>): value is Extract<Answer, { is: "failed" }> {
  if (!hasOnly(value, ["is", "code", "detail", "hint"])) return false;
  const { code, detail, hint } = value;
  return FAILURE_CODES.includes(code as FailureCode) && isText(detail) && (hint === null || isText(hint));
}

/** Whether each package occurs once, and each key names one of them. */
function isWhole(packages: readonly BuiltPackage[], roots: Record<string, unknown>): roots is Keys {
  const all = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  if (all.size !== packages.length) return false;
  let keys = 0;
  for (const members of [roots, ...packages.map(({ dependencies }) => dependencies)]) {
    const isName = members === roots ? isPackageName : isAlias;
    for (const name in members) {
      if (++keys > MAX_KEYS || !isName(name) || !all.has(members[name] as string)) return false;
    }
  }
  return true;
}

/** Whether a package may import another one by a name, which is not always its name at the registry: `"_x": "npm:x@1"`. */
function isAlias(name: string): boolean {
  return name !== "__proto__" && isPackageName(name.replace(/^_+/, ""));
}

/** Whether an object has exactly these members. */
function hasOnly(value: Record<string, unknown>, names: readonly string[]): boolean {
  let count = 0;
  for (const name in value) if (++count > names.length || !names.includes(name)) return false;
  return count === names.length;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}

function isVersion(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_VERSION && semver.valid(value) !== null;
}

function isIntegrity(value: unknown): value is string {
  return typeof value === "string" && INTEGRITY.test(value);
}
