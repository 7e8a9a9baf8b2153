import type { Problem } from "./api-types.ts";
import { CaissonError, finite, unexpected } from "./error.ts";
import { readJson } from "./read-json.ts";

/** Returns the error of an answer that is not a success. @param url the address of the service */
export async function errorOfAnswer(response: Response, url: string): Promise<CaissonError> {
  const { status, headers } = response;
  const type = headers.get("content-type") ?? "no content type";
  if (type.startsWith("application/problem+json")) {
    const problem = await problemOf(response);
    const { error } = problem;
    return new CaissonError({
      ...problem,
      ...(status === 404 && hintOfPath(problem.detail, url)),
      status,
      taskError: error ? { name: error.name, message: error.message, stack: error.stack ?? null } : null,
      retryAfterMs: finite(problem.retryAfterMs) ?? secondsOf(headers),
      run: problem.run ?? headers.get("caisson-run"),
    });
  }
  await response.body?.cancel();
  return unexpected(`status ${status}, ${type}`, { status, retryAfterMs: secondsOf(headers) });
}

async function problemOf(response: Response): Promise<Problem> {
  const problem = (await readJson(response)) as Problem | null;
  if (typeof problem?.code === "string" && typeof problem.detail === "string") return problem;
  throw unexpected("it is an error without a code or a detail", { status: response.status });
}

/** A service that sees more of the path than its own routes was named by a URL with too much. */
function hintOfPath(detail: string, url: string): { hint: string } | null {
  const { pathname, origin } = new URL(url);
  const isSeen = pathname.length > 1 && detail.includes(`${pathname}/api/`);
  // Below the address of a run, every other path is that of a task.
  const isOfRun = /^\/api\/runs?(?:\/|$)/.test(pathname);
  return isSeen || isOfRun ? { hint: `Leave ${pathname} out of the url: ${origin}` } : null;
}

function secondsOf(headers: Headers): number | null {
  const text = headers.get("retry-after");
  return text !== null && /^\d+$/.test(text) ? Number(text) * 1_000 : null;
}
