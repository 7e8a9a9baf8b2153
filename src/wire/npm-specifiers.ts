/** A specifier of a package, such as `zod/mini` or `npm:zod@^4/mini`. */
export interface PackageSpecifier {
  /** The name of the package, with its scope. */
  readonly name: string;
  /** The range or tag after the name; empty if there is none. Only `npm:` specifiers have one. */
  readonly range: string;
  /** The name with the path in the package: `zod/mini`. */
  readonly entry: string;
}

const PREFIX = "npm:";
/** The longest name that the npm registry accepts. It also bounds the time of the patterns. */
const MAX_NAME = 214;
const MAX_SPECIFIER = 1_024;
const NAME = String.raw`(?:@[a-z\d~-][a-z\d._~-]*/)?[a-z\d~-][a-z\d._~-]*`;
/** Old packages have capital letters in their names. */
const BARE = new RegExp(String.raw`^(${NAME})((?:/[^\s/]+)*)$`, "i");
/** A range has no slash, so the first one after the name begins the path. */
const WITH_RANGE = new RegExp(String.raw`^(${NAME})(?:@([^/]*))?((?:/[^\s/]+)*)$`, "i");

/** Parses a specifier of a package, with or without `npm:`. Returns null if it names no package, or a file. */
export function packageSpecifier(specifier: string): PackageSpecifier | null {
  if (specifier.length > MAX_SPECIFIER) return null;
  const isNpm = specifier.startsWith(PREFIX);
  const found = isNpm ? WITH_RANGE.exec(specifier.slice(PREFIX.length)) : BARE.exec(specifier);
  const name = found?.[1];
  if (!found || name === undefined || name.length > MAX_NAME) return null;
  const path = (isNpm ? found[3] : found[2]) ?? "";
  return { name, range: (isNpm ? found[2]?.trim() : "") ?? "", entry: name + path };
}
