import type { Code } from "../../containers/guest/code-table.ts";
import type { RequestBody } from "../../containers/guest/upload.ts";
import { Problem } from "../../errors.ts";
import type { Lock } from "../../packages/model.ts";
import type { Ranges } from "../../packages/names.ts";
import { readSubmission, type Submission } from "../../source/read-submission.ts";
import { readTaskUrl } from "../../source/task-url.ts";
import { isBlank } from "../../source/text.ts";
import type { HeldBody } from "../bodies.ts";
import { BodyHold } from "../body-hold.ts";
import { withEncoding } from "../encoded-body.ts";
import { discardRest, hasBody } from "../read-body.ts";
import { KeptInput } from "./kept-input.ts";
import { ENVELOPE_OPTIONS } from "./record-options.ts";
import { openRunBody } from "./run-body.ts";
import type { RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";

/** Code as text, and what the guest must know to compile it. */
export type CodeText = Omit<Submission, "data" | "options" | "packages"> & { readonly lastValue?: boolean };

/** What a request supplies to its run. */
export interface RunInput {
  /** The options of an envelope, by name. */
  readonly options: Readonly<Record<string, unknown>>;
  /** `null` when the service fetches the code. */
  readonly code: CodeText | Code | null;
  /** The packages that the request names outside of its texts, or null. */
  readonly ranges: Ranges | null;
  /** The lock whose versions stay: that of the task of which this is a draft; otherwise null. */
  readonly from: Lock | null;
  /** `data` of an envelope as JSON, or null when there is none. */
  readonly data: string | null;
  /** The body of the request, if it is not the code; null when there is none. */
  readonly body: RequestBody | null;
  /** For the beginning of the body, if the task keeps the inputs of its runs; otherwise null. */
  readonly kept: KeptInput | null;
}

/** An envelope may hold data besides its code, and escapes make code longer than it is. */
const ENVELOPE_FACTOR = 4;

const NO_OPTIONS = Object.freeze({});
const NOTHING_NAMED = { ranges: null, from: null } as const;

type InputDependencies = Pick<RunDependencies, "config" | "bodies" | "tasks">;

/**
 * Reads what a request supplies: its data, and its code unless the service fetches the code. The body uses memory until
 * `use` is done.
 *
 * @throws {Problem} `code_pinned`, `code_missing`, `code_ambiguous`, `code_too_large`, `request_invalid`, `overloaded`
 */
export async function withRunInput<Result>(
  call: RunCall,
  dependencies: InputDependencies,
  use: (input: RunInput) => Promise<Result>,
): Promise<Result> {
  const hold = new BodyHold();
  const hasOwnCode = call.task !== null || call.pin?.url !== undefined;
  try {
    // Most runs bring their code in a body that has arrived, and a promise costs a turn of the microtasks.
    const input = (hasOwnCode ? readData : readCode)(call, dependencies, hold);
    return await use(input instanceof Promise ? await input : input);
  } finally {
    hold.release();
  }
}

/** Reads the data for the code of a named task or of a pinned URL. */
async function readData(call: RunCall, { config, bodies }: InputDependencies, hold: BodyHold): Promise<RunInput> {
  const { task } = call;
  if (call.taskUrl !== null) {
    const what = task ? "the path names a task" : "the token runs the code of one URL";
    throw new Problem("code_pinned", `${what}, and task_url names other code`, {
      hint: "Leave task_url out. The body of the request is data for the code.",
    });
  }
  const { method } = call.request;
  const takesBody = method !== "OPTIONS" && method !== "HEAD";
  if (!takesBody) discardRest(call.response);
  const limits = { bytes: config.codeLimit * ENVELOPE_FACTOR, jsonDepth: config.jsonDepthLimit };
  const found = takesBody ? await openRunBody(call.request, call.response, limits, bodies, call.memory, hold) : null;
  const kept = task?.record === "input" && found ? new KeptInput(config.inputLimit) : null;
  if (found?.bytes) kept?.add(found.bytes);
  const onRead = kept && !found?.bytes ? (chunk: Buffer): void => kept.add(chunk) : null;
  const body = found && { source: found.source, caller: call.memory.name, mostHeld: limits.bytes, onRead };
  return { ...NOTHING_NAMED, code: null, data: null, body, options: NO_OPTIONS, kept };
}

/** Reads the code of the body, unless the service fetches it. */
function readCode(call: RunCall, dependencies: InputDependencies, hold: BodyHold): RunInput | Promise<RunInput> {
  const { request, response, taskUrl: url, memory } = call;
  const { config, bodies } = dependencies;
  const { codeLimit } = config;
  if (!hasBody(request)) return toFetch(url, request, config);
  if (request.method === "GET" || request.method === "DELETE") {
    throw new Problem("request_invalid", `${request.method} takes no body; it supplies code by task_url`, {
      hint: "Send code with POST, PUT or PATCH, or name it with task_url.",
    });
  }
  const contentType = request.headers["content-type"];
  const isEnvelope = contentType?.toLowerCase().startsWith("application/json");
  const limitBytes = isEnvelope ? codeLimit * ENVELOPE_FACTOR : codeLimit;
  const tooLarge = (): Problem => {
    return new Problem("code_too_large", `the body is longer than the limit of ${limitBytes} bytes`, {
      hint: "Keep the code as a named task and send large data as its body, or ask the operator to raise --code-limit.",
    });
  };
  const wanted = { limitBytes, tooLarge, owner: memory };
  const taken = bodies.take(request, wanted);
  if (taken) return codeOfBody(hold.keep(taken), call, dependencies, hold);
  return codeOfReading(bodies.read(request, response, wanted), call, dependencies, hold);
}

async function codeOfReading(
  reading: Promise<HeldBody>,
  call: RunCall,
  dependencies: InputDependencies,
  hold: BodyHold,
): Promise<RunInput> {
  return await codeOfBody(hold.keep(await reading), call, dependencies, hold);
}

function codeOfBody(
  bytes: Buffer,
  { request, taskUrl: url, pin, memory, recorded }: RunCall,
  { config }: InputDependencies,
  hold: BodyHold,
): RunInput | Promise<RunInput> {
  const { codeLimit, jsonDepthLimit } = config;
  try {
    if (isBlank(bytes)) {
      // A fetch may take seconds, and the blanks are not needed meanwhile.
      hold.release();
      return toFetch(url, request, config);
    }
    if (url !== null) {
      throw new Problem("code_ambiguous", "the request contains code in its body and names code by task_url", {
        hint: "Give one of the two.",
      });
    }
    const sha256 = pin?.sha256 ?? null;
    const limits = { codeBytes: codeLimit, jsonDepth: jsonDepthLimit, sha256, holder: memory.name };
    const accepted = recorded ? { ...limits, options: ENVELOPE_OPTIONS } : limits;
    const submission = readSubmission(bytes, request.headers["content-type"], accepted);
    if (!(submission instanceof Promise)) return inputOf(submission);
    return submission.then(inputOf, (error: unknown) => {
      throw withEncoding(error, request);
    });
  } catch (error) {
    throw withEncoding(error, request);
  }
}

function inputOf({ source, typescript, modules, packages: ranges, data, options }: Submission): RunInput {
  const code = { source, typescript, modules };
  return { code, ranges, from: null, data, body: null, options, kept: null };
}

/** A URL that cannot be fetched is a fault of the request, like a missing body: it counts no run. */
function toFetch(
  url: string | null,
  request: RunCall["request"],
  { taskUrlLimit }: InputDependencies["config"],
): RunInput {
  if (url !== null) {
    readTaskUrl(url, taskUrlLimit);
    return { ...NOTHING_NAMED, code: null, data: null, body: null, options: NO_OPTIONS, kept: null };
  }
  throw new Problem("code_missing", "the request contains no code", { hint: hintWithoutCode(request) });
}

function hintWithoutCode({ method, url }: RunCall["request"]): string {
  if (/[?&]task[_-]?url=/i.test(url!)) return "Did you mean task_url? The names of the query are case-sensitive.";
  const member = /[?&](code|source|script|js)=/i.exec(url!)?.[1];
  if (member !== undefined) {
    return `The parameter ${member} is for the task. Send the code itself as the body of a POST.`;
  }
  const isBodiless = method === "GET" || method === "DELETE";
  const named = "A named task runs at /api/run/{container}/{name}.";
  return `Send code as the request body${isBodiless ? " of a POST" : ""}, or name it with task_url.${isRecorded(url!) ? "" : ` ${named}`}`;
}

/** Whether a path is that of runs with a record, whose parameter `task` names a task. */
function isRecorded(url: string): boolean {
  return url.startsWith("/api/runs/");
}
