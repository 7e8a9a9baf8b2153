import { Problem } from "../../errors.ts";
import { methodHint } from "./method-hints.ts";
import { nearPath } from "./near-path.ts";
import { otherPathHint } from "./other-paths.ts";

/** @param paths the paths of the service, of which a similar one may be meant */
export function notFound(path: string, paths: readonly string[] = []): Problem {
  return new Problem("not_found", `there is nothing at ${path.slice(0, 200)}`, {
    hint: otherPathHint(path) ?? nearHint(path, paths),
  });
}

function nearHint(path: string, paths: readonly string[]): string {
  const near = nearPath(path, paths);
  return near === null || near === path
    ? "GET /openapi.json lists the paths. POST /api/run/{container} runs code, and /api/run/{container}/{name} is the address of a task."
    : `Did you mean ${near}?`;
}

export function methodNotAllowed(method: string, path: string, allow: string): Problem {
  const hint = methodHint(method, path);
  return new Problem("method_not_allowed", `${method} is not allowed here; allowed methods: ${allow}`, {
    headers: { Allow: allow },
    ...(hint !== undefined && { hint }),
  });
}

export function slashAtEnd(path: string): Problem {
  return new Problem("not_found", `there is nothing at ${path.slice(0, 200)}`, {
    hint: `Leave the slash at the end out, or write a name after it: ${path.slice(0, 200).replace(/\/+$/, "")}`,
  });
}
