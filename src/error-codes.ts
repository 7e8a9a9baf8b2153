/**
 * All failures of a request. The code is stable and machine-readable. The status, the party at fault, the title and the
 * help text belong to the code. The errors page and `docs/reference/errors.md` are generated from this table.
 */
export const PROBLEMS = {
  container_invalid: {
    status: 400,
    fault: "caller",
    title: "The container name is not valid",
    help: "A name has at most 128 letters, digits and _ . @ - characters. It begins with a letter, a digit or _.",
  },
  request_invalid: {
    status: 400,
    fault: "caller",
    title: "The request is not valid",
    help: "The detail names the fault, such as a query name, a member, a header or a length.",
  },
  credentials_ambiguous: {
    status: 400,
    fault: "caller",
    title: "The request has more than one credential",
    help: "Send the token once: as Authorization: Bearer, or as key in the query.",
  },
  code_missing: {
    status: 400,
    fault: "caller",
    title: "The request has no code",
    help: "Send code as the request body, or its URL as task_url. Blank text does not count as code.",
  },
  code_ambiguous: {
    status: 400,
    fault: "caller",
    title: "The request has code in more than one place",
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
    help: "The detail shows the line with a caret. The hint contains the fix if it is known.",
  },
  code_shape: {
    status: 400,
    fault: "caller",
    title: "The code has a form that cannot be run",
    help: "Export a function of at most 3 parameters, or an object with fetch(request, env, ctx).",
  },
  module_missing: {
    status: 400,
    fault: "caller",
    title: "The code needs a module that is not there",
    help: "Send the module with the code, bundle a package with the code, or correct the name. Node's modules are there.",
  },
  code_pinned: {
    status: 400,
    fault: "caller",
    title: "The token permits only its own code",
    help: "Send no code with this token, or the code whose SHA-256 the token contains.",
  },
  task_url_invalid: {
    status: 400,
    fault: "caller",
    title: "task_url is not a URL that can be fetched",
    help: "It must be an http or https URL without credentials, of at most 2048 characters.",
  },
  task_url_forbidden: {
    status: 400,
    fault: "caller",
    title: "task_url leads to a destination that is not allowed",
    help: "The address is private or the port is not allowed; the operator can allow a destination with --egress-allow.",
  },
  task_url_unreachable: {
    status: 400,
    fault: "caller",
    title: "task_url could not be fetched",
    help: "The name does not resolve, the server refuses connections, or it does not answer in time.",
  },
  task_url_status: {
    status: 400,
    fault: "caller",
    title: "task_url answered with an error",
    help: "The URL must answer with a 2xx status and the code. The detail contains the status of its answer.",
  },
  task_url_too_large: {
    status: 400,
    fault: "caller",
    title: "task_url returned more than the maximum size of code",
    help: "The detail names the limit, which the operator sets with --code-limit.",
  },
  task_url_not_code: {
    status: 400,
    fault: "caller",
    title: "task_url returned something that is not code",
    help: "Use the URL of the raw text. On many sites, the URL in the address bar is a page about the file.",
  },
  task_error: {
    status: 400,
    fault: "task",
    title: "The task passed an error to its callback",
    help: "The member error contains the name, the message and the stack.",
  },
  token_missing: {
    status: 403,
    fault: "caller",
    title: "A token is required",
    help: "Send the token in the header Authorization, after Bearer.",
  },
  token_invalid: {
    status: 403,
    fault: "caller",
    title: "The token is not valid",
    help: "The detail contains the reason, such as expired, revoked or issued by another service. Ask for a new token.",
  },
  origin_forbidden: {
    status: 403,
    fault: "caller",
    title: "Pages of this origin may not use the MCP endpoint",
    help: "The operator permits the origin of a page with --mcp-origin. Programs that are no pages send no Origin.",
  },
  token_forbidden: {
    status: 403,
    fault: "caller",
    title: "The token does not permit this",
    help: "The token is valid, but not for this container or operation. Ask for a token that permits it.",
  },
  container_suspended: {
    status: 403,
    fault: "caller",
    title: "The container is suspended",
    help: "An administrator has suspended the container, and can resume it with POST /api/containers/{container}/resume.",
  },
  quota_exceeded: {
    status: 403,
    fault: "limit",
    title: "A quota of stored data is used up",
    help: "The detail contains the quota and what it counts. Delete entries, or wait until entries expire.",
  },
  not_found: {
    status: 404,
    fault: "caller",
    title: "There is nothing at this path",
    help: "Use a path of the API. Paths are case-sensitive.",
  },
  method_not_allowed: {
    status: 405,
    fault: "caller",
    title: "The method does not apply to this path",
    help: "The header Allow lists the methods that apply.",
  },
  precondition_failed: {
    status: 412,
    fault: "caller",
    title: "A condition of the request does not hold",
    help: "Mostly another client has changed the resource: read it again, and send its new ETag, in double quotes, as If-Match.",
  },
  run_cancelled: {
    status: 409,
    fault: "caller",
    title: "The run was cancelled",
    help: "A client cancelled the run, or disconnected before the run had ended.",
  },
  container_limited: {
    status: 429,
    fault: "limit",
    title: "The container has used up its limit",
    help: "Wait for retryAfterMs. The violations name the windows. An administrator can raise the limit.",
  },
  token_limited: {
    status: 429,
    fault: "limit",
    title: "The token has used up its limit",
    help: "Wait for retryAfterMs. The violations name the windows.",
  },
  container_busy: {
    status: 429,
    fault: "limit",
    title: "Too many runs or containers are in use",
    help: "Try again after Retry-After, with fewer runs or containers at once.",
  },
  auth_limited: {
    status: 429,
    fault: "limit",
    title: "Too many tokens from this client address were checked",
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
    help: "Do less in one run, or stream the result; the operator sets --wall-limit and --stream-limit.",
  },
  task_stalled: {
    status: 500,
    fault: "task",
    title: "The task waits for something that cannot happen",
    help: "Settle the promise that the code returns or awaits, or call its callback. Nothing else was left in its guest.",
  },
  task_blocked: {
    status: 500,
    fault: "task",
    title: "The task blocked its event loop",
    help: "Give the event loop a turn: use await in long loops, and worker threads for long computations. The error names the line that was executing, if the guest still got a processor.",
  },
  task_memory: {
    status: 500,
    fault: "task",
    title: "The task ran out of memory",
    help: "Keep less data in memory at a time; the operator sets --memory-limit.",
  },
  task_exited: {
    status: 500,
    fault: "task",
    title: "The task ended its process",
    help: "Return a result instead of calling process.exit.",
  },
  result_unserializable: {
    status: 500,
    fault: "task",
    title: "The result cannot be written as JSON",
    help: "Return a value that JSON.stringify accepts, or a Response.",
  },
  result_too_large: {
    status: 500,
    fault: "task",
    title: "The result is too large",
    help: "Return a Response with a stream as its body, which has no size limit.",
  },
  container_restarted: {
    status: 500,
    fault: "service",
    title: "Another run ended the container",
    help: "Another run in the same container caused this. Try again.",
  },
  sandbox_failed: {
    status: 500,
    fault: "service",
    title: "The sandbox could not be started",
    help: "The run did not cause this: the operator finds the cause in the log and with caisson doctor.",
  },
  internal_error: {
    status: 500,
    fault: "service",
    title: "The service failed",
    help: "A bug in the service: the operator finds the error in the log under the run's id.",
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
    title: "The service accepts no more containers now",
    help: "Nothing was run or counted: try again after a pause.",
  },
  store_unavailable: {
    status: 503,
    fault: "service",
    title: "The store is not available",
    help: "Nothing was run or counted: the operator finds the cause, such as a full disk, in the log.",
  },
  node_unavailable: {
    status: 503,
    fault: "service",
    title: "A node did not answer",
    help: "The node may have what the request names: try again, or ask the operator whether all nodes work.",
  },
} as const;

/** The party at fault, as sent in the header `Caisson-Fault`. */
export type Fault = "caller" | "task" | "limit" | "service";

export type ProblemCode = keyof typeof PROBLEMS;
