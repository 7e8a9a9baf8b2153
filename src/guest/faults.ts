import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import type { FaultMessage } from "../wire/messages.ts";
import type { Loader } from "../wire/transform.ts";
import { bounded, describeWhole } from "./describe.ts";
import { hintOf } from "./error-hints.ts";
import { MissingModule, noteMissing } from "./missing-module.ts";

/** Room for a name, a message and the text around them; V8 repeats whole identifiers. */
const MAX_DETAIL_CHARACTERS = 9 * 1024;

const byteLength = Buffer.byteLength.bind(Buffer);
const { stringify } = JSON;

/** A fault of the submitted code that the harness detected. */
export class CodeFault extends Error {
  readonly #fault: FaultMessage;
  /** The language of a text that the builder can make JavaScript from; null if it is none. */
  loader: Loader | null = null;

  constructor(code: FaultMessage["code"], detail: string, members: Partial<FaultMessage> = {}) {
    super(detail);
    this.#fault = { ...members, code, detail };
  }

  get fault(): FaultMessage {
    return this.#fault;
  }

  /** Unlike `instanceof`, does not call traps of a thrown Proxy. */
  static is(error: unknown): error is CodeFault {
    return typeof error === "object" && error !== null && #fault in error;
  }
}

/** Returns the fault for an error that a task threw, or with which it rejected. Never throws. */
export function threwFault(error: unknown): FaultMessage {
  if (CodeFault.is(error)) return error.fault;
  if (MissingModule.is(error)) return missingFault(error);
  return taskFault("task_threw", error);
}

function missingFault(error: MissingModule): FaultMessage {
  const text = describeWhole(error);
  const fault: FaultMessage = { code: "module_missing", detail: text.message, error: text };
  const hint = error.similar === null ? (error.hint ?? hintOf(text)) : didYouMean(error.similar, error.specifier);
  if (hint !== undefined) fault.hint = hint;
  return noteMissing(fault, error);
}

function didYouMean(similar: string, specifier: string): string {
  const isBare = similar.startsWith("node:") && /^[A-Za-z][\w-]*$/.test(specifier);
  const own = isBare ? ` A module of the request is imported by its relative name: "./${specifier}".` : "";
  return `Did you mean ${similar}?${own}`;
}

/** Returns the fault for an error that a task passed to its callback. */
export function calledBackFault(error: unknown): FaultMessage {
  return taskFault("task_error", error);
}

function taskFault(code: "task_threw" | "task_error", error: unknown): FaultMessage {
  const text = describeWhole(error);
  const verb = code === "task_threw" ? "threw" : "called back with";
  const isBare =
    code === "task_threw" && (error === null || (typeof error !== "object" && typeof error !== "function"));
  const isNothing = error === null || error === undefined;
  const what = !isBare ? text.name : isNothing ? "no Error" : `a ${typeof error} and no Error`;
  const fault: FaultMessage = { code, detail: `the task ${verb} ${what}: ${text.message}`, error: text };
  const status = statusOf(error);
  if (status !== undefined) fault.status = status;
  // An object without a stack is not an Error.
  const hint = isBare
    ? NO_ERROR
    : (hintOf(text) ??
      reservedHint(status) ??
      (text.stack !== undefined
        ? undefined
        : code === "task_threw"
          ? NO_ERROR
          : status === undefined
            ? ERROR_FIRST
            : undefined));
  if (hint !== undefined) fault.hint = hint;
  return fault;
}

const ERROR_FIRST =
  "The first argument of the callback is the error: write callback(null, value) for a result, and callback(new Error(text)) for an error.";
const NO_ERROR = "Throw an Error, such as new Error(text): only an Error has the line at which it was thrown.";

/** Explains a status that a thrown error cannot set, because it is an answer of the service itself. */
function reservedHint(status: number | undefined): string | undefined {
  const isReserved = status === 401 || status === 403 || status === 407 || status === 429 || status === 503;
  if (!isReserved) return undefined;
  return `A thrown error cannot set the status ${status}, which is an answer of the service: return new Response(text, { status: ${status} }).`;
}

/** Encodes the payload of a `fault` frame, within the frame limit: the service ends a guest that sends a longer one. */
export function encodeFault(fault: FaultMessage): string {
  const bounds = { ...fault, detail: bounded(fault.detail, MAX_DETAIL_CHARACTERS) };
  const text = stringify(bounds);
  // One character is up to six bytes of JSON. Binary data read as text would not fit three times: in detail, message and stack.
  if (byteLength(text) <= OTHER_FRAME_BYTES || !bounds.error) return text;
  const { name, message } = bounds.error;
  return stringify({ ...bounds, error: { name, message } });
}

/** Returns the `status` or `statusCode` of an error if it is an integer in 400..599. */
function statusOf(error: unknown): number | undefined {
  try {
    if (typeof error !== "object" || error === null) return undefined;
    const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
    return asStatus(status) ?? asStatus(statusCode);
  } catch {
    return undefined;
  }
}

function asStatus(status: unknown): number | undefined {
  return typeof status === "number" && status % 1 === 0 && status >= 400 && status <= 599 ? status : undefined;
}

/** Whether an `import()` failed because a module does not parse. V8 gives no position for it, nor for the import. */
export function isModuleLoadFault({ code, error }: FaultMessage): boolean {
  return code === "task_threw" && error?.name === "SyntaxError" && !error.stack?.includes("\n");
}
