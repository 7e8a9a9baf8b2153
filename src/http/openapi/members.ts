type Json = Record<string, unknown>;

/** What the members of a request for a token mean. */
const OF_TOKEN: Readonly<Record<string, string>> = {
  admin: "whether the token may do everything in all containers, for as long as it lives",
  containers: "the containers: exact names, or the beginning of names and a star, such as `acme-*`",
  can: "the verbs of the token; by default run and limits",
  exp: "the end of the token, in Unix seconds; null: no end",
  expiresIn: "the life of the token, such as `12h`; by default a day",
  nbf: "the beginning of the token, in Unix seconds",
  limits: "limits of the token, and of the containers for this token, in runs by window",
  timeout: "the longest that a run may take, such as `500ms` or `5s`",
  net: "the hosts that code may connect to, if the operator allows them too; false: none",
  packages:
    "the packages that code may import, if the operator permits them too, such as `lodash@4` or `@acme/*`; false: none",
  code: "the only code that the token may run: its URL, its SHA-256, or both",
  params: "values that the code receives as `context.params`",
  secrets: "values that the code receives as `context.secrets`; no answer contains them",
  secretsReadable: "true: also code that a caller chooses may read the secrets",
  fresh: "true: each run gets an unused guest",
  depth: "how many generations of tokens may be issued below the token",
  selfRevoke: "whether the token may revoke itself; by default true",
  labels: "texts by name, for lists and for readers; they change no right",
  description: "a text for readers",
};

/** What the members of a request for a task mean. The others mean the same as those of a token. */
const OF_TASK: Readonly<Record<string, string>> = {
  code: "the code, as text",
  modules: "the modules that the code imports, by relative specifier; null removes them",
  typescript: "whether the code is read as TypeScript before it is read as JavaScript",
  url: "the URL from which each run fetches the code",
  sha256: "the SHA-256 that the code at the URL must have",
  public: "whether anyone may run the task",
  errors: "what a caller of a public task receives if it fails",
  record: "`input`: the records of its runs keep the beginning of the body",
  tool: "whether clients of the MCP endpoint see the task as a tool, with its description and its input",
  input: "the JSON Schema of what the tool takes; null: any object",
  packages:
    'the packages that the code imports, in addition to those in its specifiers: ranges by name, such as `{"zod": "^4"}`; null removes them',
  update: "packages of the task whose versions move to the newest in their range; all others stay",
};

/** The members of a task that `null` removes. */
const REMOVABLE: ReadonlySet<string> = new Set(["limits", "net"]);

/**
 * Adds descriptions to the members of requests, and gives the members of a task that are checked like those of a token
 * their schema.
 */
export function describeMembers(schemas: Json): void {
  const token = propertiesOf(schemas["TokenRequest"]);
  const task = propertiesOf(schemas["TaskRequest"]);
  for (const [name, description] of Object.entries(OF_TOKEN)) token[name] = { ...token[name], description };
  for (const [name, schema] of Object.entries(task)) {
    const isSame = !(name in OF_TASK) && name in token;
    // A schema of the task itself may allow more, such as null.
    const ofToken = REMOVABLE.has(name) ? { anyOf: [token[name], { type: "null" }] } : token[name];
    const own = isSame && Object.keys(schema).length === 0 ? ofToken : schema;
    task[name] = { ...own, description: isSame ? OF_TOKEN[name] : OF_TASK[name] };
  }
}

function propertiesOf(schema: unknown): Record<string, Json> {
  return (schema as { properties: Record<string, Json> }).properties;
}
