import { posix } from "node:path";

import type { Module } from "./modules.ts";

/** A call with a path that the code computes: `require("./locale/" + name)`, with `+`, `concat` or a template. */
const CALL =
  /(?<![\w$.])([\w$]+)(\s*\(\s*(?:\/\*[^*]*\*\/\s*)*)(["'`])(\.{1,2}\/[^"'`\\\n$]*)(?=\3\s*\+|\3\s*\.concat\(|\$\{)/g;
/** `aliasedRequire = require`, with which moment hides its call from bundlers. */
const ALIAS = /(?<![\w$.])([\w$]+)(\s*=\s*)require(?=\s*(?:[;,)\n]|$))/g;
/** The most files of one folder that a text may compute the names of. Icons and time zones are in folders of thousands. */
const MAX_FILES = 500;
const CODE = /\.(?:c?js|json)$/;
const MODULE = /\.(?:[cm]?js|json)$/;
/** `./` or `../`: its sub-folders have anything. */
const UNNAMED = /^(?:\.{1,2}\/)+$/;
const OTHER_CHARACTER = /[^\0-\x7F]/g;

/**
 * Returns the text of a module that requires or imports files by names which it computes, with all files that it may mean; null for
 * a module that does not. As in Node, a file is evaluated when it is first asked for. esbuild itself would look for them on the disk.
 *
 * @param isFound whether the files become a part of the artefact. Otherwise the call throws when the code makes it.
 */
export function withComputedNames({ pack, file }: Module, isFound: boolean): Buffer | null {
  const content = pack.files.get(file)!;
  // Most texts have none, and one byte for each character is read fast.
  if (content.toString("latin1").search(CALL) < 0) return null;
  const text = content.toString();
  const aliases = new Set([...text.matchAll(ALIAS)].map(([, name]) => name));
  const required = new Set<string>();
  const imported = new Set<string>();
  const replaced = text.replace(CALL, (whole, callee: string, middle: string, quote: string, start: string) => {
    if (callee !== "import" && callee !== "require" && !aliases.has(callee)) return whole;
    (callee === "import" ? imported : required).add(start);
    return aliases.has(callee) ? whole : `$${callee}$${middle}${quote}${start}`;
  });
  if (required.size + imported.size === 0) return null;
  const withAliases = replaced.replace(ALIAS, (_, name: string, middle: string) => `${name}${middle}$require$`);
  const tables = [
    required.size === 0 ? "" : tableOf("require", isFound ? namesOf(required, CODE, pack.files, file) : []),
    imported.size === 0 ? "" : tableOf("import", isFound ? namesOf(imported, MODULE, pack.files, file) : []),
  ];
  return Buffer.from(`${withAliases}\n${tables.join("")}`);
}

/** Returns the text of the function that stands for `require` or `import`. */
function tableOf(callee: "require" | "import", names: Iterable<readonly [name: string, file: string]>): string {
  const cases = [...names].map(([name, file]) => `case ${quoted(name)}: return ${callee}(${quoted(file)});`);
  // An import that fails rejects, and does not throw.
  const head = callee === "import" ? "async function $import$" : "function $require$";
  return `${head}(name) { switch (name) { ${cases.join(" ")} } return ${callee}(name); }\n`;
}

/** Returns what code may compute that begins in one of these ways, with the file that Node would find. */
function namesOf(
  starts: Iterable<string>,
  extensions: RegExp,
  files: ReadonlyMap<string, Buffer>,
  importer: string,
): Map<string, string> {
  const names = new Map<string, string>();
  const add = (name: string, file: string): void => {
    if (!names.has(name)) names.set(name, file);
  };
  for (const start of starts) {
    const folder = posix.join(posix.dirname(importer), start);
    const found: string[] = [];
    for (const file of files.keys()) {
      const rest = folder === "./" ? file : file.startsWith(folder) ? file.slice(folder.length) : "";
      const isOther = UNNAMED.test(start) && rest.includes("/");
      if (rest !== "" && file !== importer && !isOther && extensions.test(file)) found.push(rest);
    }
    if (found.length > MAX_FILES) continue;
    for (const rest of found) add(start + rest, start + rest);
    // As Node, which tries the name itself first, then with `.js`, then with `.json`, then a folder.
    for (const end of [".js", ".json", "/index.js", "/index.json"]) {
      for (const rest of found) if (rest.endsWith(end)) add(start + rest.slice(0, -end.length), start + rest);
    }
  }
  return names;
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(OTHER_CHARACTER, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
