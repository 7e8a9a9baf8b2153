import { uncurry } from "../wire/uncurry.ts";

/** Keeps frames of the guest's own program and of Node out of stacks: they are not part of the submitted code. */

type Site = NodeJS.CallSite;
type FormatStack = (error: Error, sites: Site[]) => unknown;

const NativeError = Error;
const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
/** Node's own function. It writes the sites that it receives below the error, with source maps if a task enables them. */
const formatByNode = getOwnPropertyDescriptor(NativeError, "prepareStackTrace")?.value as FormatStack;

const ownSite = siteOf();
const sites = getPrototypeOf(ownSite) as Site;
const fileOf = uncurry(sites, "getFileName") as (site: Site) => string | null | undefined;
const functionNameOf = uncurry(sites, "getFunctionName");
const isEval = uncurry(sites, "isEval");
const startsWith = uncurry(String.prototype as string, "startsWith");
const includes = uncurry(String.prototype as string, "includes");
const errors = new WeakSet<object>();
const addError = errors.add.bind(errors);
const hasError = errors.has.bind(errors);

/** The folder of the guest's program, as stacks name it. In a worker it is a `file:` URL. */
const ownFolder = fileOf(ownSite)!.replace(/[^/]*$/, "");
/** The name of the script with which Node evaluates the text of a worker. */
const WORKER_WRAPPER = "[worker eval]-wrapper";
/** The function of Node that parses an ES module. */
const PARSER = "compileSourceTextModule";
/** A frame in the text of a stack: of the guest's program, or of Node. The text after its position stays. */
const OWN_FRAME = new RegExp(
  String.raw`\n[ \t]+at (?:[^\n]*[ (])?(?:node:[\w/]|${ownFolder.replace(/[^\w/]/g, "\\$&")})[^\s()]*:\d+:\d+\)?`,
  "g",
);

/** Formats all stacks of this thread without these frames. Call it once, before any submitted code runs. */
export function hideOwnFrames(): void {
  NativeError.prepareStackTrace = formatStack;
}

/**
 * The guest's `Error.prepareStackTrace`. V8 calls it when a stack is first read, also for errors of other contexts. A task
 * may replace it.
 */
export function formatStack(error: Error, all: Site[]): unknown {
  try {
    if (all.length > 0 && functionNameOf(all[0]!) === PARSER && isHidden(all[0]!)) addError(error);
    return formatByNode(error, submittedSites(all));
  } catch {
    // A library passes sites that it made itself.
    return formatByNode(error, all);
  }
}

/** Whether an error has the stack of Node's module parser, which is not a part of the formatted stack. */
export function isOfParser(error: object): boolean {
  return hasError(error);
}

/** Removes the frames from a text with stacks that a task has formatted itself. */
export function withoutOwnFrames(text: string): string {
  return includes(text, ownFolder) ? text.replace(OWN_FRAME, "") : text;
}

function submittedSites(all: readonly Site[]): Site[] {
  const reversed: Site[] = [];
  let isShown = false;
  // From the outermost frame: a built-in function, which has no file, is shown if its caller is.
  for (let index = all.length - 1; index >= 0; index -= 1) {
    const site = all[index]!;
    if (typeof fileOf(site) === "string") isShown = !isHidden(site);
    else if (isEval(site)) isShown = true;
    if (isShown) reversed[reversed.length] = site;
  }
  const shown: Site[] = [];
  for (let index = reversed.length - 1; index >= 0; index -= 1) shown[shown.length] = reversed[index]!;
  return shown;
}

function isHidden(site: Site): boolean {
  const file = fileOf(site);
  if (typeof file !== "string") return false;
  return startsWith(file, "node:") || startsWith(file, ownFolder) || file === WORKER_WRAPPER;
}

/** Returns a call site of this file. Only a formatter of stacks receives one. */
function siteOf(): Site {
  NativeError.prepareStackTrace = (_, all) => all;
  const [site] = new NativeError().stack as unknown as Site[];
  NativeError.prepareStackTrace = formatByNode as typeof NativeError.prepareStackTrace;
  return site!;
}
