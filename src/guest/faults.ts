import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import type { FaultMessage } from "../wire/messages.ts";
import { bounded, describeWhole } from "./describe.ts";
import { hintOf } from "./error-hints.ts";

/** Room for a name, a message and what is said around them; V8 repeats whole identifiers. */
const MAX_DETAIL_CHARACTERS = 9 * 1024;

const byteLength = Buffer.byteLength.bind(Buffer);
const { stringify } = JSON;

/** A fault of the submitted code that the harness itself found. */
export class CodeFault extends Error {
  readonly #fault: FaultMessage;

  constructor(code: FaultMessage["code"], detail: string, more: Partial<FaultMessage> = {}) {
    super(detail);
    this.#fault = { ...more, code, detail };
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
  const text = describeWhole(error);
  const verb = code === "task_threw" ? "threw" : "called back with";
  const fault: FaultMessage = { code, detail: `the task ${verb} ${text.name}: ${text.message}`, error: text };
  const status = statusOf(error);
  if (status !== undefined) fault.status = status;
  const hint = hintOf(text);
  if (hint !== undefined) fault.hint = hint;
  return fault;
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
