/**
 * Every way in which a request can fail. The code is stable and machine-readable; the status, the party at fault,
 * the title and what helps belong to the code. The errors page and `docs/reference/errors.md` are made from this table.
 */
export const PROBLEMS = {
  container_invalid: {
    status: 400,
    fault: "caller",
    title: "The container name is not valid",
    help: "A name begins with a letter, a digit or _, goes on with these and . @ -, and has at most 128 characters.",
  },
  request_invalid: {
    status: 400,
    fault: "caller",
    title: "The request is not valid",
    help: "The detail names what is wrong: a query name, a member, a header, a length.",
  },
  credentials_ambiguous: {
    status: 400,
    fault: "caller",
    title: "More than one credential was given",
    help: "Send the token once: as Authorization: Bearer, or as key in the query.",
  },
  code_missing: {
    status: 400,
    fault: "caller",
    title: "No code was given",
    help: "Send code as the request body, or name it with task_url. Blank text is no code.",
  },
  code_ambiguous: {
    status: 400,
    fault: "caller",
    title: "Code was given by more than one means",
    help: "Send a body or task_url, not both.",
  },
  code_too_large: {
    status: 400,
    fault: "caller",
    title: "The code is too large",
    help: "The detail names the limit, which the operator sets with --code-limit.",
  },
  code_syntax: {
    status: 400,
    fault: "caller",
    title: "The code does not parse",
    help: "The detail shows the line with a caret; the hint says what to change where that is known.",
  },
  code_shape: {
    status: 400,
    fault: "caller",
    title: "The code has a shape that cannot be run",
    help: "Export a function of at most 3 parameters, or an object with fetch(request, env, ctx).",
  },
  code_pinned: {
    status: 400,
    fault: "caller",
    title: "The token runs only its own code",
    help: "Send no code with this token, or the code whose SHA-256 it names.",
  },
  task_url_invalid: {
    status: 400,
    fault: "caller",
    title: "task_url is not a URL that can be fetched",
    help: "It has to be an http or https URL without credentials, of at most 2048 characters.",
  },
  task_url_forbidden: {
    status: 400,
    fault: "caller",
    title: "task_url leads to a place that is not allowed",
    help: "It leads to a private place or a port that is not allowed; the operator can open one with --egress-allow.",
  },
  task_url_unreachable: {
    status: 400,
    fault: "caller",
    title: "task_url could not be fetched",
    help: "The name does not resolve, nobody listens there, or no answer came in time.",
  },
  task_url_status: {
    status: 400,
    fault: "caller",
    title: "task_url answered with an error",
    help: "The URL has to answer 200 with the code; the detail names what it answered.",
  },
  task_url_too_large: {
    status: 400,
    fault: "caller",
    title: "task_url gave more than a task may be long",
    help: "The detail names the limit, which the operator sets with --code-limit.",
  },
  task_url_not_code: {
    status: 400,
    fault: "caller",
    title: "task_url gave something that is not code",
    help: "Use the URL of the raw text: many sites show a page about a file under the URL in the address bar.",
  },
  task_error: {
    status: 400,
    fault: "task",
    title: "The task called back with an error",
    help: "The code passed an error to its callback: see error.",
  },
  token_missing: {
    status: 403,
    fault: "caller",
    title: "A token is needed",
    help: "Send Authorization: Bearer and a token.",
  },
  token_invalid: {
    status: 403,
    fault: "caller",
    title: "The token is not valid",
    help: "The detail says why: expired, revoked, not of this service. Ask for a new one.",
  },
  token_forbidden: {
    status: 403,
    fault: "caller",
    title: "The token does not permit this",
    help: "The token is good, but not for this container or act. Ask for one that is.",
  },
  quota_exceeded: {
    status: 403,
    fault: "limit",
    title: "The service keeps as much for this as it may",
    help: "The detail names the number and what it counts. Delete something, or wait until something has expired.",
  },
  not_found: {
    status: 404,
    fault: "caller",
    title: "There is nothing at this path",
    help: "The paths are those of the API; they are case-sensitive.",
  },
  method_not_allowed: {
    status: 405,
    fault: "caller",
    title: "The method does not apply to this path",
    help: "The header Allow lists those that apply.",
  },
  precondition_failed: {
    status: 412,
    fault: "caller",
    title: "Somebody else has changed it",
    help: "Get it again, and send its ETag as If-Match.",
  },
  container_limited: {
    status: 429,
    fault: "limit",
    title: "The container has used up its limit",
    help: "Wait for retryAfterMs; violations name the windows. An administrator can raise the limit.",
  },
  token_limited: {
    status: 429,
    fault: "limit",
    title: "The token has used up its limit",
    help: "Wait for retryAfterMs; violations name the windows.",
  },
  container_busy: {
    status: 429,
    fault: "limit",
    title: "There is no place for another run now",
    help: "Too many runs or containers at a time: try again after Retry-After, with fewer at once.",
  },
  auth_limited: {
    status: 429,
    fault: "limit",
    title: "Too many tokens of this address were checked",
    help: "Wait for retryAfterMs, and send tokens that the service has issued.",
  },
  task_threw: {
    status: 500,
    fault: "task",
    title: "The task threw an error",
    help: "See error for the name, the message, and the stack in lines of the submitted code.",
  },
  task_timeout: {
    status: 500,
    fault: "task",
    title: "The task ran out of time",
    help: "Do less in one run, or stream; the operator sets --wall-limit and --stream-limit.",
  },
  task_blocked: {
    status: 500,
    fault: "task",
    title: "The task blocked its event loop",
    help: "Give the event loop a turn: use await in long loops, and worker threads for long computations.",
  },
  task_memory: {
    status: 500,
    fault: "task",
    title: "The task ran out of memory",
    help: "Hold less at a time; the operator sets --memory-limit.",
  },
  task_exited: {
    status: 500,
    fault: "task",
    title: "The task ended its process",
    help: "Return a result in place of calling process.exit.",
  },
  result_unserializable: {
    status: 500,
    fault: "task",
    title: "The result cannot be written as JSON",
    help: "Return what JSON.stringify takes, or a Response.",
  },
  result_too_large: {
    status: 500,
    fault: "task",
    title: "The result is too large",
    help: "Answer a Response with a stream as its body, which has no limit of size.",
  },
  container_restarted: {
    status: 500,
    fault: "service",
    title: "Another run ended the container",
    help: "Not this run's fault: another in its container took it along. Try again.",
  },
  sandbox_failed: {
    status: 500,
    fault: "service",
    title: "The sandbox could not be started",
    help: "Not this run's fault: the operator finds the cause in the log, and by caisson doctor.",
  },
  internal_error: {
    status: 500,
    fault: "service",
    title: "The service failed",
    help: "A defect of the service: the operator finds it in the log under the run's id.",
  },
  draining: {
    status: 503,
    fault: "service",
    title: "The service is stopping",
    help: "Nothing was run or counted: try again soon, or at another node.",
  },
  overloaded: {
    status: 503,
    fault: "service",
    title: "The service takes no more containers",
    help: "Nothing was run or counted: try again after a pause.",
  },
  store_unavailable: {
    status: 503,
    fault: "service",
    title: "The store cannot be written",
    help: "Nothing was run or counted: the operator finds the cause, such as a full disk, in the log.",
  },
} as const;

/** Whose doing an error is, as sent in `Caisson-Fault`. */
export type Fault = "caller" | "task" | "limit" | "service";

export type ProblemCode = keyof typeof PROBLEMS;
