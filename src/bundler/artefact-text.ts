import { isAscii } from "node:buffer";

/**
 * esbuild's helpers, and what replaces them. A first import of zod calls each of them several hundred times. They stand at the start of
 * an artefact, before the text of any package.
 */
const HELPERS: readonly (readonly [string, string])[] = [
  // Most functions have their name already. To read it takes a tenth of the time.
  [
    'var __name = (target, value) => __defProp(target, "name", { value, configurable: !0 });',
    'var __name = (target, value) => target.name === value ? target : __defProp(target, "name", { value, configurable: !0 });',
  ],
  [
    `var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: !0 });
}`,
    // V8 makes an object of which members were deleted a hash table, and adds no hidden class for each getter.
    `var __export = (target, all, read) => {
  target.a = target.b = 1, delete target.a, delete target.b;
  var descriptor = { get: void 0, enumerable: !0 };
  if (read) for (let at = 0; at < all.length; at++)
    descriptor.get = () => read(at), __defProp(target, all[at], descriptor);
  else for (var name in all)
    descriptor.get = all[name], __defProp(target, name, descriptor);
}`,
  ],
];
/** The longest part of an artefact in which the helpers stand. */
const MAX_HELPERS = 8_192;
/** The first line of a module of a package. */
const MODULE = "\n// npm:";

/** The exports of a module, as esbuild writes them: a function for each. Nothing but the comment with its name stands before. */
const EXPORTS =
  /^(\/\/ (?:npm|entry):.*\nvar ([\w$]+) = \{\};\n__export\(\2, )\{\n((?: {2}(?:[\w$]+|"(?:[^"\\\n]|\\.)*"): \(\) => [\w$.]+,?\n)+)\}\);$/gm;
const EXPORT = /^ {2}(?:([\w$]+)|("(?:[^"\\\n]|\\.)*")): \(\) => ([\w$.]+),?$/gm;

/** A comment on a separate line, or a line of one. Names of modules stay. */
const COMMENT = /^[ \t]*(?:\/\/(?! npm:)|\/?\*).*$/gm;
const OTHER_CHARACTER = /[^\0-\x7F]/g;

/**
 * Returns an artefact whose comments have ASCII characters only. esbuild escapes others in code. One dash in a comment would make V8 store
 * two bytes for each character of the text, and a guest decode it in four times the time.
 */
export function withAsciiComments(artefact: Buffer): Buffer {
  if (isAscii(artefact)) return artefact;
  return Buffer.from(artefact.toString().replace(COMMENT, (line) => line.replace(OTHER_CHARACTER, "?")));
}

/** Returns an artefact with other helpers. */
export function withHelpers(artefact: Uint8Array): Buffer {
  const bytes = Buffer.from(artefact.buffer, artefact.byteOffset, artefact.length);
  const found = bytes.subarray(0, MAX_HELPERS).indexOf(MODULE);
  const end = found < 0 ? 0 : found;
  const helpers = bytes.toString("latin1", 0, end);
  const replaced = HELPERS.reduce((text, [from, to]) => text.replace(from, () => to), helpers);
  // A helper of another version of esbuild reads the exports as they are.
  const modules = bytes.toString("latin1", end);
  const read = replaced.includes("all, read") ? modules.replace(EXPORTS, exportsOfOneFunction) : modules;
  return Buffer.from(replaced + read, "latin1");
}

/** V8 has one function in its code cache for all exports of a module: zod has 1,254 exports, and so its cache half the size. */
function exportsOfOneFunction(_: string, head: string, _name: string, list: string): string {
  const names: string[] = [];
  const cases: string[] = [];
  for (const [, name, quoted, value] of list.matchAll(EXPORT)) {
    cases.push(`case ${names.length}: return ${value};`);
    names.push(quoted ?? `"${name}"`);
  }
  return `${head}[${names.join(", ")}], (at) => { switch (at) { ${cases.join(" ")} } });`;
}

/**
 * Makes an artefact of the bundled module of its only entry, which exports the namespace of the entry. The module becomes a function, so
 * that its modules need no functions of their own. As in Node, it is evaluated once, also if it throws.
 */
export function artefactOfOne(entry: string, bundled: Buffer): Buffer {
  const head =
    `module.exports = { __proto__: null, ${JSON.stringify(entry)}: { __proto__: null, import: ((found, fault) => () => { ` +
    "if (fault) throw fault[0]; try { return found ??= $evaluate$().namespace; } catch (error) { throw fault = [error], error; } })() } };" +
    "\nfunction $evaluate$() { const module = { exports: {} };\n";
  return Buffer.concat([Buffer.from(head), bundled, Buffer.from("\nreturn module.exports; }\n")]);
}
