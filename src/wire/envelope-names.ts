/** The members of an envelope. */
export const ENVELOPE_MEMBERS: readonly string[] = ["code", "data", "modules", "packages"];

/** The names that other services have for the members. */
export const ENVELOPE_SYNONYMS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    code: ["source", "script", "js", "text", "content", "program"],
    data: ["body", "input", "payload", "args", "arguments", "params", "context", "event", "variables"],
    modules: ["files", "imports"],
    packages: ["dependencies", "npm", "libraries"],
  }).flatMap(([member, names]) => names.map((name) => [name, member] as const)),
);

/** What the code of a task or a token receives, and no other code. */
export const TASK_MEMBERS: readonly string[] = ["secrets", "secret", "env", "environment", "net", "limits", "fresh"];
