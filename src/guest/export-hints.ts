import { builtinModules } from "node:module";

import { nearName } from "./near-name.ts";

/** Returns the names that a module exports, or null if they are unknown. */
export type NamesOf = (module: string) => readonly string[] | null;

const builtins = new Set(builtinModules);
const { keys } = Object;
/** The most names of exports in a hint. */
const MAX_LISTED = 8;
const MAX_NAME = 48;
/** Names that authors expect of a module of Node, and what to write. */
const EXPECTED = /^(?:sha\d+|md5|hash)$/i;

/** Returns the hint for the import of a name that its module does not export. */
export function exportHint(text: string, module: string, name: string, namesOf: NamesOf): string {
  const bare = module.replace(/^node:/, "");
  if (name === bare || name === bare.split("/")[0])
    return `Import the module without braces: import ${name} from "${module}".`;
  if (bare === "crypto" && EXPECTED.test(name))
    return 'Import createHash: createHash("sha256").update(text).digest("hex") is the SHA-256 of a text.';
  const known: unknown = builtins.has(bare) ? process.getBuiltinModule(`node:${bare}`) : null;
  const names = known === null ? (namesOf(module) ?? []) : keys(known as object);
  if (name === "default") return defaultHint(text, module, names);
  const others = names.filter((each) => each !== "default");
  const near = names.includes(name.replace(/Sync$/, "")) ? name.replace(/Sync$/, "") : nearName(name, others);
  if (near !== null) return `Did you mean ${near}?`;
  if (others.length > 0) return `The module exports ${listed(others, name)}: import one of its names.`;
  if (names.length > 0) return `The module has only a default export: write import ${name} from "${module}".`;
  return "Import a name that the module exports, or export the name there.";
}

/** Returns the hint for the default import of a module that has no default export. */
function defaultHint(text: string, module: string, names: readonly string[]): string {
  if (names.length === 0) return "The module has no default export: write export default in it, or import { name }.";
  const local = /\bimport\s+([\w$]{1,48})\s*(?:,\s*\{[^}]*\}\s*)?from\s*(["'])([^"'\n]{1,200})\2/g;
  for (let found = local.exec(text); found; found = local.exec(text)) {
    const [, name, , from] = found;
    if (from !== module) continue;
    const near = names.includes(name!) ? name! : (nearName(name!, names) ?? (names.length === 1 ? names[0]! : null));
    if (near !== null) return `The module has no default export: write import { ${near} } from "${module}".`;
  }
  return `The module has no default export. It exports ${listed(names, "")}: write import { ${names[0]!} } from "${module}".`;
}

/** Writes the first names, with those before the others that contain the wrong name, or are contained in it. */
function listed(names: readonly string[], wrong: string): string {
  const word = wrong.toLowerCase();
  const shown: string[] = [];
  const isAlike = (name: string): boolean => {
    const other = name.toLowerCase();
    return word.length > 2 && other.length > 2 && (other.includes(word) || word.includes(other));
  };
  for (const wantsAlike of [true, false]) {
    for (let index = 0; index < names.length && shown.length < MAX_LISTED; index += 1) {
      const name = names[index]!;
      if (name.length <= MAX_NAME && isAlike(name) === wantsAlike) shown[shown.length] = name;
    }
  }
  const further = names.length - shown.length;
  return `${shown.join(", ")}${further > 0 ? ` and ${further} more` : ""}`;
}

/** The longest text whose exports are searched. */
const MAX_TEXT = 256 * 1024;
const DECLARED =
  /(?:^|[;}\n])[ \t]*export[ \t]+(?:(default)\b|(?:async[ \t]+)?(?:function[ \t]*\*?|class|const|let|var)[ \t]+([\w$]{1,64})|\{([^}]{0,2000})\})/g;

/** Returns the names that the text of a submitted module exports. It finds the usual forms only. */
export function exportsOfText(text: string): string[] {
  const names: string[] = [];
  if (text.length > MAX_TEXT) return names;
  const found = new RegExp(DECLARED, "g");
  for (let each = found.exec(text); each; each = found.exec(text)) {
    const [, isDefault, name, list] = each;
    if (isDefault !== undefined) names[names.length] = "default";
    if (name !== undefined) names[names.length] = name;
    for (const part of list === undefined ? [] : list.split(",")) {
      const exported = /(?:^|\bas\s+)([\w$]{1,64})\s*$/.exec(part.trim())?.[1];
      if (exported !== undefined) names[names.length] = exported;
    }
  }
  return names;
}
