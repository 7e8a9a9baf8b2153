/** Reads the parameters of a function from its source. */

/** Returns the name of the first parameter; empty if there is none or if it is destructured. */
export function firstParameter(source: string): string {
  return bareParameter(source) ?? /^\s*([\w$]*)/.exec(parameterList(source) ?? "")![1]!;
}

/** Returns the names of all parameters; empty if one is destructured or has a default. */
export function parameterNames(source: string): string[] {
  const bare = bareParameter(source);
  if (bare !== undefined) return [bare];
  const list = parameterList(source) ?? "";
  const names = list.slice(0, Math.max(0, list.indexOf(")"))).split(",");
  const plain = names.map((name) => name.trim());
  return plain.every((name) => /^[\w$]+$/.test(name)) ? plain : [];
}

/** Returns the source after the opening bracket of the parameters, without comments. */
export function parameterList(source: string): string | null {
  const text = source.slice(0, 4096).replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
  const opening = text.indexOf("(");
  return opening === -1 ? null : text.slice(opening + 1);
}

function bareParameter(source: string): string | undefined {
  return /^(?:async\s+)?([\w$]+)\s*=>/.exec(source)?.[1];
}
