import { type Code, codeOf } from "../../containers/guest/code-table.ts";
import type { Sources } from "../../source/fetch.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import { sourceOfTask } from "../task-source.ts";
import type { RunCall } from "./run-call.ts";
import type { CodeText } from "./run-input.ts";

/**
 * Returns the code of an admitted run that its request does not contain: the code of its task, or from a URL. It comes after
 * the admission, because a megabyte that is not in memory takes milliseconds to read, and a server its time.
 *
 * @throws {Problem} as `Tasks.codeOf` and `Sources.fetch`
 */
export async function codeOfCall(
  call: RunCall,
  { tasks, sources }: { tasks: Pick<Tasks, "codeOf">; sources: Sources },
): Promise<Code> {
  const { task } = call;
  if (task?.inline) return sourceOfTask(await tasks.codeOf(task, task.caller.family));
  return codeOf(await fetchCode(call, sources));
}

async function fetchCode(
  { taskUrl: url, group, pin, bearer, caller, response }: RunCall,
  sources: Sources,
): Promise<CodeText> {
  // The run of a client that has left must not hold its slot for as long as a slow server answers.
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const permit = { net: group.net, sha256: pin?.sha256 ?? null, family: (bearer ?? caller).family };
  const { bytes, contentType } = await sources.fetch(pin?.url ?? url!, permit, gone.signal);
  const typescript = contentType?.startsWith("application/typescript") ?? false;
  return { source: bytes, typescript, modules: null };
}
