/** What a client probably wants that sends a method which a path does not have. The first match applies. */
const HINTS: readonly { readonly methods: RegExp; readonly path: RegExp; readonly hint: string }[] = [
  {
    methods: /^P/,
    path: /^\/$/,
    hint: "POST /api/run/{container} runs the code of its body, in the container of that name.",
  },
  {
    methods: /^P/,
    path: /^\/api\/limits\/container\//,
    hint: "PUT /api/containers/{container} sets the limits of a container. DELETE on this path resets its use.",
  },
  {
    methods: /^P/,
    path: /^\/api\/limits\/token\//,
    hint: "The limits of a token are set when it is issued. DELETE on this path resets its use.",
  },
  {
    methods: /^P/,
    path: /^\/api\/containers$/,
    hint: "A container needs no creation. PUT /api/containers/{container} sets its limits.",
  },
  {
    methods: /^(?:PUT|PATCH)$/,
    path: /^\/api\/runs\/[^/]+$/,
    hint: "POST runs the code of its body, and answers with the record of the run. PUT /api/tasks/{container}/{name} makes a task.",
  },
  {
    methods: /^P/,
    path: /^\/api\/packages$/,
    hint: "PUT /api/packages/allow/{entry} permits a package, and POST /api/packages/warm builds some.",
  },
  {
    methods: /^POST$/,
    path: /^\/api\/containers\/[^/]+$/,
    hint: "PUT replaces all limits of the container, and PATCH changes some.",
  },
  {
    methods: /^P/,
    path: /^\/api\/tasks(?:\/[^/]+)?$/,
    hint: "PUT /api/tasks/{container}/{name} makes a task.",
  },
  {
    methods: /^DELETE$/,
    path: /^\/api\/tasks\/[^/]+$/,
    hint: "DELETE /api/tasks/{container}/{name} deletes one task. GET on this path lists the tasks.",
  },
  {
    methods: /^P/,
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/versions(?:\/[^/]+)?$/,
    hint: 'POST {"version":3} to /api/tasks/{container}/{name}/rollback makes version 3 the newest again.',
  },
  {
    methods: /^DELETE$/,
    path: /^\/api\/containers\/[^/]+\/suspend$/,
    hint: "POST /api/containers/{container}/resume permits runs again.",
  },
  {
    methods: /^(?:POST|PATCH)$/,
    path: /^\/api\/tasks\/[^/]+\/[^/]+$/,
    hint: "PUT makes or changes the task. POST /api/run/{container}/{name} runs it.",
  },
  {
    methods: /^(?:GET|HEAD|PUT|PATCH)$/,
    path: /^\/api\/tasks\/[^/]+\/[^/]+\/rollback$/,
    hint: 'POST {"version":3} makes version 3 the newest again. GET .../versions lists the versions.',
  },
  {
    methods: /^(?:GET|HEAD|PUT|PATCH)$/,
    path: /^\/api\/containers\/[^/]+\/(?:suspend|resume|restart)$/,
    hint: "Send POST without a body. GET /api/containers/{container} shows the state.",
  },
  {
    methods: /^(?:GET|HEAD|PUT|PATCH|DELETE)$/,
    path: /^\/mcp(?:\/|$)/,
    hint: "This is the address for an MCP client, which sends its messages with POST. The service opens no stream and keeps no session.",
  },
  {
    methods: /^(?:GET|HEAD|PUT|PATCH|DELETE)$/,
    path: /^\/api\/tokens\/introspect$/,
    hint: "Send POST with the form token=<token>, and your own token as Authorization: Bearer.",
  },
  {
    methods: /^(?:GET|HEAD|POST|PATCH|DELETE)$/,
    path: /^\/api\/tokens\/[^/]+\/secrets$/,
    hint: 'PUT {"API_KEY":"..."} replaces all secrets of the token. The service never shows secrets.',
  },
  {
    methods: /^DELETE$/,
    path: /^\/api\/runs(?:\/[^/]+)?$/,
    hint: "DELETE /api/runs/{container}/{run} cancels one run. Records end by themselves, after --keep-runs.",
  },
  {
    methods: /^P/,
    path: /^\/api\/runs\/[^/]+\/[^/]+$/,
    hint: "POST /api/run/{container}/{name} runs a task, and POST /api/runs/{container}?task={name} answers with its record.",
  },
  {
    methods: /^P/,
    path: /^\/api\/tokens\/[^/]+$/,
    hint: "A token does not change: issue another one with POST /api/tokens, and revoke this one with DELETE.",
  },
  {
    methods: /^(?:PUT|PATCH|DELETE)$/,
    path: /^\/api\/tokens$/,
    hint: "POST issues a token. DELETE /api/tokens/{jti} revokes one.",
  },
  {
    methods: /^P/,
    path: /^\/api\/runs$/,
    hint: "POST /api/runs/{container} runs code and answers with its record.",
  },
  {
    methods: /^HEAD$/,
    path: /^\/api\/run\/[^/]+$/,
    hint: "HEAD is only for named tasks, at /api/run/{container}/{name}.",
  },
];

/** Returns what to do instead of a method that a path does not have, or undefined. */
export function methodHint(method: string, path: string): string | undefined {
  return HINTS.find((entry) => entry.methods.test(method) && entry.path.test(path))?.hint;
}
