import { type Code, codeOf } from "../../containers/guest/code-table.ts";
import type { Sources } from "../../source/fetch.ts";
import { sourceOfTask } from "../task-source.ts";
import { whileClientWaits } from "./client-left.ts";
import type { RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import type { CodeText, RunInput } from "./run-input.ts";
import { artefactOf, packagesOfFetched, type RunPackages } from "./run-packages.ts";

type Dependencies = Pick<RunDependencies, "config" | "tasks" | "sources" | "packages">;

/**
 * Returns the code of an admitted run, with its packages: at once if the request contains the code and its packages are in memory.
 *
 * @param input what the request supplies; its code may be null
 * @param named the packages that were found before the admission
 * @throws {Problem} as `Tasks.codeOf`, `Sources.fetch`, `packagesOfFetched` and `artefactOf`
 */
export function codeOfCall(
  call: RunCall,
  input: Pick<RunInput, "code" | "ranges" | "from">,
  named: RunPackages | null,
  dependencies: Dependencies,
): Code | Promise<Code> {
  if (!input.code) return loadCode(call, input, named, dependencies);
  return named === null ? codeOf(input.code) : withPackages(input.code, named, call, dependencies);
}

/**
 * Reads the code from the task of the run, or fetches it from a URL. This comes after the admission, because a megabyte that is not
 * in memory takes milliseconds to read, and a server its time.
 */
async function loadCode(
  call: RunCall,
  input: Pick<RunInput, "ranges" | "from">,
  named: RunPackages | null,
  dependencies: Dependencies,
): Promise<Code> {
  const { tasks, sources, packages } = dependencies;
  const { task } = call;
  if (task?.inline) {
    const code = await tasks.codeOf(task, task.caller.family);
    return named === null ? sourceOfTask(code) : sourceOfTask(code, await artefactOf(call, named, dependencies));
  }
  const fetched = await fetchCode(call, sources);
  const imported = await packagesOfFetched(call, fetched, input, packages);
  return imported === null ? codeOf(fetched) : await withPackages(fetched, imported, call, dependencies);
}

function withPackages(
  code: CodeText | Code,
  named: RunPackages,
  call: RunCall,
  dependencies: Dependencies,
): Code | Promise<Code> {
  const { source, typescript, modules, lastValue = false } = code;
  const text = { source: source as Buffer, typescript, modules, lastValue };
  const packages = artefactOf(call, named, dependencies);
  if (!(packages instanceof Promise)) return codeOf({ ...text, packages });
  return packages.then((built) => codeOf({ ...text, packages: built }));
}

async function fetchCode(call: RunCall, sources: Sources): Promise<CodeText> {
  const { taskUrl: url, group, pin, bearer, caller } = call;
  const permit = { net: group.net, sha256: pin?.sha256 ?? null, family: (bearer ?? caller).family };
  const { bytes, contentType } = await whileClientWaits(call, (signal) => {
    return sources.fetch(pin?.url ?? url!, permit, signal);
  });
  const typescript = contentType?.startsWith("application/typescript") ?? false;
  return { source: bytes, typescript, modules: null };
}
