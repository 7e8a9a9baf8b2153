/**
 * The source of a value that code may read. A `binding` is a member of the `env` of a fetch handler, `context` a member that no context
 * has, `headers` a header that the service withholds, or whose name has capital letters, and `stream` a member of the body of a Request.
 */
export type AbsentSource =
  | "env"
  | "secrets"
  | "params"
  | "query"
  | "data"
  | "body"
  | "binding"
  | "context"
  | "headers"
  | "stream";

export function isAbsentSource(text: string): text is AbsentSource {
  return /^(?:env|secrets|params|query|data|body|binding|context|headers|stream)$/.test(text);
}

/** Returns the hint for a value that the code reads and the run does not have: what sets it, and how the code reads it. */
export function absentText(source: AbsentSource, name: string): string {
  switch (source) {
    case "context":
      return `The context has no ${name}: it has data (the query and the members of the body), body, query, headers, params and secrets.`;
    case "env":
      return `process.env has no variables of yours, so process.env.${name} is undefined. ${setsSecret(name)} The code then reads context.secrets.${name}. For values that are not secret, use context.params and context.query.`;
    case "binding":
      return `env has the params and the secrets of the task or the token, and no ${name}. ${setsSecret(name)} A task has no other bindings.`;
    case "secrets":
    case "params":
      return `The run has no ${source}.${name}. A task or a token sets it: {"${source}": {"${name}": "..."}} in PUT /api/tasks/{container}/{name} or POST /api/tokens.`;
    case "stream":
      return `The body of a Request is a stream, so request.body.${name} is undefined: write (await request.json()).${name}.`;
    case "headers":
      if (/[A-Z]/.test(name))
        return `The names of headers are in lower case: write headers["${name.toLowerCase()}"] instead of "${name}".`;
      return `The service passes no header ${name} to this code, because it may hold credentials for the service: send the value in another header, such as x-${name}, or in the body.`;
    case "query":
      return `The query has no ${name}: send it in the URL, as ?${name}=..., or test it first.`;
    case "data":
      return `context.data has no ${name}: it has the query and the members of the body. Send ?${name}=... in the URL, or JSON with the member ${name} as the body; with the code, send {"code": "...", "data": {"${name}": ...}}.`;
    default:
      return `The body has no ${name}: send it as a member of the JSON body, or test it first.`;
  }
}

const OWNERS: Readonly<Partial<Record<AbsentSource, string>>> = {
  env: "process.env",
  binding: "env",
  body: "The body",
  query: "The query",
  context: "The context",
};

/** Returns the hint for a value that the run has in another part of its context, or by a similar name. */
export function elsewhereText(source: AbsentSource, name: string, part: string, meant: string): string {
  const owner = OWNERS[source] ?? `context.${source}`;
  return `${owner} has no ${name}, but the run has ${meant === name ? "it" : meant}: write context.${part}.${meant}${source === "context" ? ", with the context as the first parameter" : ""}.`;
}

function setsSecret(name: string): string {
  return `A task or a token sets it as a secret: {"secrets": {"${name}": "..."}} in PUT /api/tasks/{container}/{name} or POST /api/tokens.`;
}
