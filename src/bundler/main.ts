import { type Answer, type BuildMessage, MAX_HEAD_BYTES, type Order, type TransformMessage } from "./build-messages.ts";
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
    if (order.do === "transform") {
      const { head, texts } = await answerTransform(order);
      yield* parts(head, Buffer.concat(texts));
    } else {
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

/** Transforms the texts of a code, all at once: each one is a way to esbuild and back. */
async function answerTransform({ texts }: TransformMessage): Promise<{ head: Answer; texts: Buffer[] }> {
  const outcomes = await Promise.allSettled(texts.map(transformed));
  const at = outcomes.findIndex(({ status }) => status === "rejected");
  if (at >= 0) {
    const { reason } = outcomes[at] as PromiseRejectedResult;
    if (!(reason instanceof Failure) || reason.code !== "code_syntax") throw reason;
    return { head: { is: "rejected", at, detail: reason.message }, texts: [] };
  }
  const made = outcomes.map((outcome) => Buffer.from((outcome as PromiseFulfilledResult<string>).value));
  return { head: { is: "transformed", lengths: made.map(({ length }) => length) }, texts: made };
}

function* parts(head: Answer, rest: Uint8Array): Generator<Uint8Array> {
  const line = Buffer.from(`${JSON.stringify(head)}\n`);
  if (line.length > MAX_HEAD_BYTES)
    throw new Failure("packages_too_large", "the packages depend on each other too often");
  yield line;
  yield rest;
}
