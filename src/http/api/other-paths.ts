/** Paths that other services have, and what serves their purpose here. The first match applies. */
const OTHERS: readonly { readonly path: RegExp; readonly hint: string }[] = [
  {
    path: /^\/(?:sse|messages?|mcp\/sse|mcp\/[^/]+\/(?:sse|messages?))\/?$/,
    hint: "The address for an MCP client is /mcp/{container}, or /mcp for a token of several containers.",
  },
  {
    path: /^\/api\/logs?(?:\/[^/]*)?\/?$/,
    hint: "GET /api/runs/{container} lists the runs, and GET /api/runs/{container}/{run}/console has the console of one.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:stop|pause|disable|deactivate|kill|block)$/,
    hint: "POST /api/containers/{container}/suspend refuses new runs; with ?now=true it also ends those in flight.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:start|enable|activate|unsuspend|unpause|unblock|continue)$/,
    hint: "POST /api/containers/{container}/resume permits runs again. A container needs no start.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:reload|reboot|recycle|redeploy)$/,
    hint: "POST /api/containers/{container}/restart replaces the guests; with ?now=true it also ends the runs in flight.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/reset$/,
    hint: "DELETE /api/limits/container/{container} resets the counts, and POST /api/containers/{container}/restart replaces the guests.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:delete|remove|destroy)$/,
    hint: "DELETE /api/containers/{container} removes limits, labels and description. A container exists only by its name.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:create|new)$/,
    hint: "A container needs no creation: POST /api/run/{container} runs code in it.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:labels?|tags|description)(?:\/|$)/,
    hint: 'PATCH /api/containers/{container} sets them: {"labels": {"team": "billing"}, "description": "..."}.',
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:secrets?|params|env|variables|config)(?:\/|$)/,
    hint: "Secrets and params belong to a task, with PUT /api/tasks/{container}/{name}, or to a token, with POST /api/tokens.",
  },
  {
    path: /^\/(?:api\/)?(?:web)?hooks?(?:\/|$)/,
    hint: 'A webhook is a named task: PUT /api/tasks/{container}/{name} with "public": true makes it, and others call /api/run/{container}/{name}.',
  },
  {
    path: /^\/api\/tasks?$/,
    hint: "PUT /api/tasks/{container}/{name} makes a task, with its container and its name in the path. GET /api/tasks/{container} lists the tasks of a container.",
  },
  {
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/(?:run|runs|invoke|execute|call)$/,
    hint: "POST /api/run/{container}/{name} runs the task.",
  },
  {
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/(?:invocations?|exec|trigger|test)$/,
    hint: "POST /api/run/{container}/{name} runs the task.",
  },
  {
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/(?:secrets?|params|env|variables|config|packages|labels?|limits?|code|source)(?:\/|$)/,
    hint: 'They are members of the task: PUT /api/tasks/{container}/{name} with {"code": "...", "secrets": {"API_KEY": "value"}} sets them, and GET shows them without the values of secrets.',
  },
  {
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/(?!(?:versions?|v|rollback)(?:\/|$))[^/]+$/,
    hint: "The name of a task has no slash: the path is /api/tasks/{container}/{name}.",
  },
  {
    path: /^\/api\/packages\/allow\/@[^/]+\/[^/]+$/,
    hint: "In a path, the slash of a scope is written %2F: /api/packages/allow/@acme%2Ftools.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:tasks?|functions?)(?:\/|$)/,
    hint: "GET /api/tasks/{container} lists the tasks of a container, and PUT /api/tasks/{container}/{name} makes one.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:runs|logs?|console|events|history)(?:\/|$)/,
    hint: "GET /api/runs/{container} lists the runs of a container, and GET /api/runs/{container}/events follows them.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:run|exec|execute|eval|invoke|code)$/,
    hint: "POST /api/run/{container} runs the code of its body.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:limits?|policy|usage|stats)$/,
    hint: "PUT /api/containers/{container} sets the limits, and GET /api/limits/container/{container} shows what is left.",
  },
  {
    path: /^\/api\/packages\/(?!(?:allow|locks|warm)(?:\/|$))(?:@[^/]+\/)?[^/]+$/,
    hint: "PUT /api/packages/allow/{entry} permits a package, and GET /api/packages lists those that are permitted.",
  },
  {
    path: /^\/api\/limits?(?:\/?|\/(?!containers?\/|tokens?\/)[^/]+\/[^/]+)$/,
    hint: "The paths are /api/limits/container/{container} and /api/limits/token/{jti}.",
  },
  {
    path: /^\/api\/runs\/[^/]+\/[^/]+\/(?:logs?|output|stdout|stderr|lines)$/,
    hint: "GET /api/runs/{container}/{run}/console has the lines of its console.",
  },
  {
    path: /^\/api\/runs\/[^/]+\/[^/]+\/(?:cancel|stop|kill|abort)$/,
    hint: "DELETE /api/runs/{container}/{run} cancels a run.",
  },
  {
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/(?:v|version)\/[^/]+$/,
    hint: "GET /api/tasks/{container}/{name}/versions/{version} has a version with its code. POST .../rollback makes it the newest again.",
  },
  {
    path: /^\/api\/tokens\/[^/]+\/(?:revoke|delete|disable)$/,
    hint: "DELETE /api/tokens/{jti} revokes a token and all tokens below it.",
  },
  {
    path: /^\/api\/tokens\/[^/]+\/(?:refresh|renew|rotate|extend|update)$/,
    hint: "A token does not change: issue another one with POST /api/tokens, and revoke this one with DELETE /api/tokens/{jti}.",
  },
  {
    path: /^\/api\/(?:secrets?|env|variables|config)(?:\/|$)/,
    hint: "Secrets and params belong to a task, with PUT /api/tasks/{container}/{name}, or to a token, with POST /api/tokens.",
  },
  {
    path: /^\/(?:api\/(?:healthz?|status|ping|live|ready|version)|status|ping|live|ready|version)$/,
    hint: "GET /healthz answers whether the service takes runs, and with its version.",
  },
  {
    path: /^\/(?:console|login|ui|dashboard|admin|index\.html?)\/?$/,
    hint: "The web console is at /, or at the port of --console-port.",
  },
  {
    path: /^\/api\/keys?(?:\/|$)/,
    hint: "On the machine of the service, `caisson keys` lists, rotates and revokes the keys. Their public parts are at /.well-known/jwks.json.",
  },
  {
    path: /^\/(?:api\/)?(?:docs?|documentation|swagger|redoc|api-docs)(?:[/.]|$)/,
    hint: "GET /openapi.json describes the API. The documents are in the folder docs of caisson.",
  },
  {
    path: /^\/api\/(?:cron|crons|schedules?|triggers?)(?:\/|$)/,
    hint: "The service has no schedule: let cron, or another scheduler, call /api/run/{container}/{name}.",
  },
];

/** Returns what to do instead of a path that this service does not have, or undefined. */
export function otherPathHint(path: string): string | undefined {
  // A longer path takes time to compare.
  return path.length > 400 ? undefined : OTHERS.find((entry) => entry.path.test(path))?.hint;
}
