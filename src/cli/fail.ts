import { CaissonError } from "../../client/src/index.ts";
import { Problem } from "../errors.ts";
import { exitOf } from "./exits.ts";
import { printableLines } from "./print/printable.ts";
import { say } from "./print/say.ts";

/** Ends the command with an error, and with its exit code. @param exitCode replaces the exit code of the error. */
export function fail(error: unknown, exitCode: number = exitOf(error)): never {
  say(...errorLines(error));
  if (process.env["CAISSON_DEBUG"]) say(...printableLines(String(error instanceof Error ? error.stack : error)));
  process.exit(exitCode);
}

/** Returns an error as lines for a terminal: what is wrong, all faults, and the fix. */
export function errorLines(error: unknown): string[] {
  if (error instanceof CaissonError) {
    const { code, detail, hint, violations } = error;
    return [
      ...printableLines(`${code}: ${detail}`),
      ...faultLines(violations),
      ...(hint === null ? [] : [commandsIn(hint)]),
    ];
  }
  const lines = printableLines(error instanceof Error ? error.message : String(error));
  return error instanceof Problem ? [...lines, ...faultLines(error.options.violations)] : lines;
}

/** The requests that hints of the service name, and the commands that send them. */
const COMMANDS: readonly (readonly [request: RegExp, command: string])[] = [
  [
    /PUT \/api\/tasks\/\{container\}\/\{name\} makes a task\..*/,
    "caisson tasks list CONTAINER prints the tasks of a container.",
  ],
  [
    /Send it with the code: \{"code".*/,
    "caisson run and caisson deploy send the files that the code imports with ./ and this file does not exist.",
  ],
  [
    /Add "packages": \{"([^"]+)":"([^"]*)"\} to the request/,
    'Add --package $1 to caisson run, or "packages": {"$1": "$2"} to caisson.json',
  ],
  [/GET \/api\/tasks\/([\w.@{}-]+)\/([\w.@{}-]+)\/versions/, "caisson tasks versions $1 $2"],
  [/GET \/api\/tasks\/([\w.@{}-]+)/, "caisson tasks list $1"],
  [/GET \/api\/runs\/([\w.@{}-]+)\?status=running/, "caisson runs list $1 --status running"],
  [/GET \/api\/runs\/([\w.@{}-]+)/, "caisson runs list $1"],
  [/GET \/api\/runs\b/, "caisson runs list"],
  [/The answer to POST \/api\/tokens and GET \/api\/tokens contain it\./, "caisson tokens list prints it."],
  [/PUT \/api\/containers\/([\w.@{}-]+)/, "caisson limits set container $1"],
  [/GET \/api\/tokens\b/, "caisson tokens list"],
  [/GET \/api\/containers\b/, "caisson containers list"],
];

/** Returns a hint with commands instead of requests. */
export function commandsIn(hint: string): string {
  const [request, command] = COMMANDS.find(([each]) => each.test(hint)) ?? [];
  if (request === undefined || command === undefined) return hint;
  return hint.replace(request, command).replaceAll("{container}", "CONTAINER").replaceAll("{name}", "TASK");
}

/** Returns a line for each fault of a problem with several faults. The detail contains a single fault. */
function faultLines(violations: unknown): string[] {
  if (!Array.isArray(violations) || violations.length < 2) return [];
  return violations.map((violation: unknown) => {
    const { member, detail } = (violation ?? {}) as { member?: unknown; detail?: unknown };
    return typeof member === "string" && typeof detail === "string"
      ? `  ${member} ${detail}`
      : `  ${JSON.stringify(violation)}`;
  });
}
