import { readFile } from "node:fs/promises";
import path from "node:path";

import { strip } from "./strip-types.ts";

/** The supported forms of import and export. The bundler rejects all other forms. */
const IMPORT = /^import\s+(?:\{([^}]*)\}|(\w+))\s+from\s+"([^"]+)";/gm;
const EXPORT = /^export (?=(?:async function|function|class|const)\s+(\w+))/gm;
const OWN_FILE = /\bimport\.meta\.filename\b/g;
const UNKNOWN = /^(?:import|export)\b.*|\bimport\.meta\.(?!dirname\b)\w*/m;

interface Module {
  readonly file: string;
  readonly text: string;
  readonly imports: readonly string[];
}

/**
 * Makes one ES module of an entry and all modules that it imports by relative paths, without types. Node needs 40 ms of CPU
 * to load 60 modules and 3 ms to load one of the same length, and every guest loads this program at its start.
 *
 * Each module becomes a function that is called once, in the order of the imports. The bundle gets Node's modules by
 * `process.getBuiltinModule` at its start. Later changes to these modules therefore do not reach the bundle, and Node does
 * not create an ES module for each, which would cost another 4 ms. The `import.meta.filename` of a module is its path
 * relative to the entry, below the folder of the bundle, with the extension `.js`.
 *
 * @throws {Error} for an unsupported form of import or export (such as `export let`, `export default` or `import *`), and
 *   for modules that import each other.
 */
export async function bundle(entry: string): Promise<string> {
  const folder = path.dirname(entry);
  const ordered = await inOrder(entry);
  const natives = new Set<string>();
  const parts = ordered.map(({ file, text }) => {
    const exported: string[] = [];
    const body = text
      .replace(IMPORT, (_, list: string | undefined, whole: string, specifier: string) => {
        const from = isNative(specifier) ? specifier : path.relative(folder, target(file, specifier));
        if (isNative(specifier)) natives.add(specifier);
        return `const ${list === undefined ? whole : `{${list.replaceAll(" as ", ": ")}}`} = ${variable(from)};`;
      })
      .replace(EXPORT, (_, name: string) => {
        exported.push(name);
        return "";
      })
      .replace(
        OWN_FILE,
        () => `(import.meta.dirname + ${JSON.stringify(`/${path.relative(folder, file).replace(/\.ts$/, ".js")}`)})`,
      );
    const [unknown] = UNKNOWN.exec(body) ?? [];
    if (unknown !== undefined) throw new Error(`${file}: a bundle cannot have ${unknown}`);
    // The entry is not wrapped in a function, because it may have a top-level await.
    if (file === entry) return body;
    return `const ${variable(path.relative(folder, file))} = (() => {\n${body}\nreturn { ${exported.join(", ")} };\n})();`;
  });
  const heads = [...natives].map(
    (name) => `const ${variable(name)} = process.getBuiltinModule(${JSON.stringify(name)});`,
  );
  return [...heads, ...parts, ""].join("\n");
}

/**
 * Turns a bundle into an expression that V8 can cache in compiled form, because Node offers that only for scripts. The
 * expression is a function that receives the folder of the bundle and returns a promise. The result is ASCII.
 *
 * @throws {Error} for text whose meaning would change when it is escaped.
 */
export function toScript(bundled: string): string {
  const text = bundled.replaceAll("import.meta.dirname", "$folder");
  if (/\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/.test(text))
    throw new Error("a script cannot have text that an escape would change");
  const ascii = text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `(async ($folder) => {\n"use strict";\n${ascii}})\n`;
}

/** Turns a bundle into a CommonJS module without exports. `require` does not wait for a top-level await in it. */
export function toCommonJs(bundled: string): string {
  return `${toScript(bundled).trimEnd()}(__dirname);\n`;
}

async function inOrder(entry: string): Promise<Module[]> {
  const ordered = new Map<string, Module>();
  const visit = async (file: string, above: readonly string[]): Promise<void> => {
    if (above.includes(file))
      throw new Error(`${[...above, file].join(" imports ")}: a bundle cannot have circular imports`);
    if (ordered.has(file)) return;
    const module = await read(file);
    for (const imported of module.imports) await visit(imported, [...above, file]);
    ordered.set(file, module);
  };
  await visit(entry, []);
  return [...ordered.values()];
}

async function read(file: string): Promise<Module> {
  const text = await strip(await readFile(file, "utf8"));
  const specifiers = [...text.matchAll(IMPORT)].map(([, , , specifier]) => specifier!);
  return { file, text, imports: specifiers.filter((name) => !isNative(name)).map((name) => target(file, name)) };
}

function target(file: string, specifier: string): string {
  return path.join(path.dirname(file), specifier);
}

function isNative(specifier: string): boolean {
  return specifier.startsWith("node:");
}

function variable(name: string): string {
  return `$${name.replaceAll(/\W/g, "_")}`;
}
