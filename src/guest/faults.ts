import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import type { FaultMessage } from "../wire/messages.ts";

const MAX_MESSAGE_CHARACTERS = 8 * 1024;
const MAX_STACK_CHARACTERS = 32 * 1024;
/** A guest that throws an object graph must not make the service hold it. */
const MAX_NAME_CHARACTERS = 256;

/** Of the cause of an error. */
const MAX_CAUSE_CHARACTERS = 1_024;

/** Room for a name, a message and what is said around them; V8 repeats whole identifiers. */
const MAX_DETAIL_CHARACTERS = 9 * 1024;

const byteLength = Buffer.byteLength.bind(Buffer);
const { stringify } = JSON;

const UNREADABLE = { name: "Error", message: "the task threw something that cannot be read" };

type ErrorText = NonNullable<FaultMessage["error"]>;

/** A fault of the submitted code that the harness itself found. */
export class CodeFault extends Error {
  readonly #fault: FaultMessage;

  constructor(code: FaultMessage["code"], detail: string, more: Partial<FaultMessage> = {}) {
    super(detail);
    this.#fault = { code, detail, ...more };
  }

  get fault(): FaultMessage {
    return this.#fault;
  }

  /** Unlike `instanceof`, asks nothing of a thrown Proxy. */
  static is(error: unknown): error is CodeFault {
    return typeof error === "object" && error !== null && #fault in error;
  }
}

/** A throw or a rejection of a task, in the guest's words. Never throws, whatever was thrown. */
export function threwFault(error: unknown): FaultMessage {
  if (CodeFault.is(error)) return error.fault;
  return taskFault("task_threw", error);
}

/** What a task gave its callback as the error. */
export function calledBackFault(error: unknown): FaultMessage {
  return taskFault("task_error", error);
}

function taskFault(code: "task_threw" | "task_error", error: unknown): FaultMessage {
  const text = describeError(error);
  const verb = code === "task_threw" ? "threw" : "called back with";
  const fault: FaultMessage = { code, detail: `the task ${verb} ${text.name}: ${text.message}`, error: text };
  const status = statusOf(error);
  if (status !== undefined) fault.status = status;
  const hint = causeOf(error);
  if (hint !== undefined) fault.hint = hint;
  return fault;
}

/** What an error says that it comes from: of a fetch that failed it is all that helps. */
function causeOf(error: unknown): string | undefined {
  try {
    const cause: unknown = (error as { cause?: unknown } | null | undefined)?.cause;
    if (typeof cause !== "object" || cause === null) return undefined;
    return `The cause: ${bounded(describeError(cause).message, MAX_CAUSE_CHARACTERS)}`;
  } catch {
    return undefined;
  }
}

/** The payload of a `fault` frame. The service ends a guest whose fault is longer than it takes. */
export function encodeFault(fault: FaultMessage): string {
  const told = { ...fault, detail: bounded(fault.detail, MAX_DETAIL_CHARACTERS) };
  const text = stringify(told);
  // A character is up to six bytes of JSON: bytes that somebody reads as text would not fit three times.
  if (byteLength(text) <= OTHER_FRAME_BYTES || !told.error) return text;
  const { name, message } = told.error;
  return stringify({ ...told, error: { name, message } });
}

/** Name, message and stack of anything that can be thrown, within bounds, with places of the submitted text only. */
export function describeError(error: unknown): ErrorText {
  try {
    if (error === null || (typeof error !== "object" && typeof error !== "function")) {
      return { name: "Error", message: bounded(String(error), MAX_MESSAGE_CHARACTERS) };
    }
    const { name, message, stack } = error as Partial<Record<keyof Error, unknown>>;
    const text: ErrorText = {
      name: bounded(typeof name === "string" && name !== "" ? name : "Error", MAX_NAME_CHARACTERS),
      message: cleaned(bounded(typeof message === "string" ? message : asText(error), MAX_MESSAGE_CHARACTERS)),
    };
    if (typeof stack === "string") text.stack = submittedStack(text, stack);
    return text;
  } catch {
    // A getter, a Proxy or a `toString` that throws, or a task that replaced what is used here.
    return UNREADABLE;
  }
}

/** A thrown plain object says more as JSON than as [object Object]. */
function asText(error: object): string {
  if (Object.getPrototypeOf(error) === Object.prototype) return JSON.stringify(error);
  return (error as Error).toString();
}

/** The integer status that an error asks for, when it lies in 400..599. */
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

/** Frames of the harness and of Node tell a task's author nothing, and what stands in them is not theirs to see. */
function submittedStack(error: ErrorText, stack: string): string {
  let text = `${error.name}: ${error.message}`;
  const lines = bounded(stack, 4 * MAX_STACK_CHARACTERS).split("\n");
  // By index, here and wherever a fault is told: a task may have replaced the iterator of arrays.
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!;
    if (/^\s+at /.test(line) && line.includes("task:/")) text += `\n${cleaned(line)}`;
  }
  return bounded(text, MAX_STACK_CHARACTERS);
}

/** Submitted modules have the URL `task:/<code>/<name>`; their authors know them by name. */
function cleaned(text: string): string {
  return text.replace(/task:\/[\d.]+\//g, "");
}

function bounded(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`;
}
