import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";

/** The only forms that this knows. What begins like another is refused, not guessed. */
const IMPORT = /^import\s+(?:\{([^}]*)\}|(\w+))\s+from\s+"([^"]+)";/gm;
const EXPORT = /^export (?=(?:async function|function|class|const)\s+(\w+))/gm;
const OWN_PLACE = /\bimport\.meta\.filename\b/g;
const UNKNOWN = /^(?:import|export)\b.*|\bimport\.meta\.(?!dirname\b)\w*/m;

interface Module {
  readonly file: string;
  readonly text: string;
  readonly imports: readonly string[];
}

/**
 * Makes one ES module out of an entry and all that it imports by relative paths, its types stripped. Node loads some 60
 * modules in 40 ms of CPU and one of the same length in 3, which counts for a program that each guest starts with.
 *
 * Each module becomes a function that is called once, in the order of the imports. What it names of Node's modules is taken
 * when it begins, so that no later change of them reaches it, and without the ES module that Node makes of each of its own
 * when it is imported, which costs another 4 ms.
 * The modules believe to lie below the bundle as they lay below the entry, as JavaScript.
 *
 * @throws {Error} of a form of import or export that it does not know (no `export let`, `export default` or `import *`),
 *   and of modules that import each other.
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
        OWN_PLACE,
        () => `(import.meta.dirname + ${JSON.stringify(`/${path.relative(folder, file).replace(/\.ts$/, ".js")}`)})`,
      );
    const [unknown] = UNKNOWN.exec(body) ?? [];
    if (unknown !== undefined) throw new Error(`${file}: a bundle cannot have ${unknown}`);
    // The entry may wait at its top level, which no function of the kind could.
    if (file === entry) return body;
    return `const ${variable(path.relative(folder, file))} = (() => {\n${body}\nreturn { ${exported.join(", ")} };\n})();`;
  });
  const heads = [...natives].map(
    (name) => `const ${variable(name)} = process.getBuiltinModule(${JSON.stringify(name)});`,
  );
  return [...heads, ...parts, ""].join("\n");
}

/**
 * Makes of a bundle an expression that V8 can keep compiled, which Node offers for scripts and not for modules: a function
 * that gets the folder in which the module believes to lie, and gives a promise of its end. All of it is ASCII.
 *
 * @throws {Error} of what has another meaning once it is escaped.
 */
export function toScript(bundled: string): string {
  const text = bundled.replaceAll("import.meta.dirname", "$folder");
  if (/\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/.test(text))
    throw new Error("a script cannot have what an escape would change");
  const ascii = text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `(async ($folder) => {\n"use strict";\n${ascii}})\n`;
}

/** Makes of a bundle a CommonJS module, which gives nothing out. It may wait at its top level, and nobody waits for that. */
export function toCommonJs(bundled: string): string {
  return `${toScript(bundled).trimEnd()}(__dirname);\n`;
}

async function inOrder(entry: string): Promise<Module[]> {
  const ordered = new Map<string, Module>();
  const visit = async (file: string, above: readonly string[]): Promise<void> => {
    if (above.includes(file)) throw new Error(`${[...above, file].join(" imports ")}: a bundle cannot go in a circle`);
    if (ordered.has(file)) return;
    const module = await read(file);
    for (const imported of module.imports) await visit(imported, [...above, file]);
    ordered.set(file, module);
  };
  await visit(entry, []);
  return [...ordered.values()];
}

async function read(file: string): Promise<Module> {
  const text = stripTypeScriptTypes(await readFile(file, "utf8"));
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
