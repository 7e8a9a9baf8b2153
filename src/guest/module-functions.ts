import { builtinModules } from "node:module";

import { nearName } from "./near-name.ts";

const builtins = new Set(builtinModules);
const getBuiltin = process.getBuiltinModule.bind(process);
const { keys } = Object;

/** V8's message for a call of a value that is no function: a variable, `require(...)`, or a member of one of both. */
const NO_FUNCTION =
  /^(?:(?:([A-Za-z_$][\w$]{0,63})|require\(\.\.\.\))(\.promises)?\.)?([A-Za-z_$][\w$]{0,63}) is not a function$/;
/** V8's message for a call of a variable that holds no function. */
const NO_CALL = /^([A-Za-z_$][\w$]{0,63}) is not a (?:function|constructor)$/;
/** A module with more functions is described in the documentation of Node only. */
const MAX_LISTED = 8;

/** Functions that other languages, packages or runtimes have, by their names in lower case. */
const MEANT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  crypto: {
    sha256: 'createHash("sha256").update(text).digest("hex")',
    sha1: 'createHash("sha1").update(text).digest("hex")',
    sha512: 'createHash("sha512").update(text).digest("hex")',
    md5: 'createHash("md5").update(text).digest("hex")',
    uuid: "randomUUID()",
    uuidv4: "randomUUID()",
    v4: "randomUUID()",
  },
  "timers/promises": { sleep: "await setTimeout(ms)", wait: "await setTimeout(ms)", delay: "await setTimeout(ms)" },
};

/**
 * Returns the hint for a call of a function that a module of Node does not have, or undefined: the function that was meant, or the module
 * that has it.
 *
 * @param message of the error
 */
export function moduleFunctionHint(text: string, message: string): string | undefined {
  const called = NO_CALL.exec(message)?.[1];
  const whole = called === undefined ? undefined : wholeModuleHint(text, called);
  if (whole !== undefined) return whole;
  const [, variable, part = "", name] = NO_FUNCTION.exec(message) ?? [];
  if (name === undefined) return undefined;
  const loaded = variable === undefined ? moduleWith(text, name, message) : moduleIn(text, variable);
  if (loaded === undefined) return undefined;
  const module = part === "" ? loaded : `${loaded}/promises`;
  if (!builtins.has(module)) return undefined;
  const names = functionsOf(module);
  if (names.includes(name)) return undefined;
  const fact = `node:${module} has no function ${name}`;
  const other = module.endsWith("/promises") ? module.slice(0, -"/promises".length) : `${module}/promises`;
  const own = name.replace(/Sync$/, "");
  const isOther = builtins.has(other) && functionsOf(other).includes(name);
  if (isOther && own !== name && names.includes(own))
    return `${fact}: write await ${own}(...), which returns a promise, or take ${name} from node:${other}.`;
  if (isOther) return `${fact}, but node:${other} has it.`;
  const meant = MEANT[module]?.[name.toLowerCase()];
  if (meant !== undefined) return `${fact}: write ${meant}.`;
  const near = nearName(name, names);
  if (near !== null) return `${fact}: did you mean ${near}?`;
  return names.length > 0 && names.length <= MAX_LISTED
    ? `${fact}: it has ${names.join(", ")}.`
    : `${fact}: the documentation of Node lists what it has.`;
}

/** Returns the hint for a call of a variable that holds a whole module instead of one of its functions. */
function wholeModuleHint(text: string, name: string): string | undefined {
  const own = name.replaceAll("$", "\\$");
  const imported = new RegExp(String.raw`\bimport\s+(?:\*\s*as\s+)?${own}\s+from\s*${MODULE}`).exec(text)?.[1];
  const required = new RegExp(
    String.raw`\b(?:const|let|var)\s+${own}\s*=\s*require\(\s*${MODULE}\s*\)[ \t]*(?:[;\r\n]|$)`,
  ).exec(text)?.[1];
  const module = imported ?? required;
  if (module === undefined || !builtins.has(module)) return undefined;
  const others = text.match(
    new RegExp(String.raw`\b(?:const|let|var|function|class)\s+${own}(?![\w$])|\b${own}\s*=>`, "g"),
  );
  // Another variable of this name may be called.
  if ((others?.length ?? 0) > (imported === undefined ? 1 : 0)) return undefined;
  const names = functionsOf(module);
  const fact = `${name} holds the whole module node:${module}, which is no function`;
  const meant = names.includes(name) ? name : nearName(name, names);
  if (meant === null) return `${fact}: call one of its functions, as in ${name}.${names[0] ?? "name"}(...).`;
  return imported === undefined
    ? `${fact}: write const { ${meant} } = require("node:${module}").`
    : `${fact}: write import { ${meant} } from "node:${module}".`;
}

function functionsOf(module: string): readonly string[] {
  const value = getBuiltin(module) as unknown as Record<string, unknown>;
  return keys(value).filter((name) => typeof value[name] === "function");
}

const MODULE = String.raw`["'](?:node:)?([a-z][\w/]{1,40})["']`;

/** Returns the name of the module that a variable holds. */
function moduleIn(text: string, variable: string): string | undefined {
  const own = variable.replaceAll("$", "\\$");
  const taken = String.raw`\b(?:const|let|var)\s+${own}\s*=\s*(?:require|await\s+import)\(\s*${MODULE}\s*\)(\s*\.\s*promises\b)?`;
  const [, required, part] = new RegExp(taken).exec(text) ?? [];
  if (required !== undefined) return part === undefined ? required : `${required}/promises`;
  return new RegExp(String.raw`\bimport\s+(?:\*\s*as\s+)?${own}\s+from\s*${MODULE}`).exec(text)?.[1];
}

/** Returns the name of the module from which a text takes a function without a variable for the module. */
function moduleWith(text: string, name: string, message: string): string | undefined {
  const own = name.replaceAll("$", "\\$");
  const isCalled = message.startsWith("require(");
  const taken = isCalled
    ? String.raw`\brequire\(\s*${MODULE}\s*\)(?:\s*\.\s*promises)?\s*\.\s*${own}(?![\w$])`
    : String.raw`\{(?:[^{}]{0,300}[{,\s])?${own}\s*(?:,[^{}]{0,300})?\}\s*=\s*(?:require|await\s+import)\(\s*${MODULE}`;
  return new RegExp(taken).exec(text)?.[1];
}
