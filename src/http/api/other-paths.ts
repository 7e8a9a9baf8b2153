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
    path: /^\/api\/containers\/[^/]+\/(?:stop|pause|disable|kill|block)$/,
    hint: "POST /api/containers/{container}/suspend ends its runs and refuses new ones.",
  },
  {
    path: /^\/api\/containers\/[^/]+\/(?:start|enable|unpause|unblock|continue)$/,
    hint: "POST /api/containers/{container}/resume permits runs again. A container needs no start.",
  },
  {
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/(?:run|runs|invoke|execute|call)$/,
    hint: "POST /api/run/{container}/{name} runs the task.",
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
