import { type Answer, type BuildMessage, MAX_HEAD_BYTES, type Order } from "./build-messages.ts";
import { bundled } from "./bundle.ts";
import { Failure } from "./failure.ts";
import { Modules } from "./modules.ts";
import { resolved } from "./resolve.ts";
import { transformed } from "./transform-text.ts";
import { unpacked } from "./unpacked.ts";

/**
 * The program of a builder. It runs as the code of a run, in a guest that runs nothing else and ends after this order. It reads
 * packages and their descriptions, which are hostile, so that the service does not.
 */
export default async function handle({ body }: { readonly body: Order }): Promise<AsyncGenerator<Uint8Array>> {
  return answer(body);
}

async function* answer(order: Order): AsyncGenerator<Uint8Array> {
  try {
    if (order.do === "transform") yield* parts({ is: "transformed" }, Buffer.from(await transformed(order)));
    else {
      const { head, artefact } = await answerBuild(order);
      yield* parts(head, artefact);
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    yield* parts({ is: "failed", code: error.code, detail: error.message, hint: error.hint }, Buffer.of());
  }
}

/** Resolves, fetches and bundles a set of packages. @throws {Failure} */
async function answerBuild(order: BuildMessage): Promise<{ head: Answer; artefact: Uint8Array }> {
  const resolution = await resolved(order);
  const { packages, locked } = await unpacked(resolution);
  const artefact = await bundled(order.entries, new Modules(packages, resolution.roots));
  const roots = Object.fromEntries([...resolution.roots].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { head: { is: "built", packages: locked, roots }, artefact };
}

function* parts(head: Answer, rest: Uint8Array): Generator<Uint8Array> {
  const line = Buffer.from(`${JSON.stringify(head)}\n`);
  if (line.length > MAX_HEAD_BYTES)
    throw new Failure("packages_too_large", "the packages depend on each other too often");
  yield line;
  yield rest;
}
