import { readFileSync } from "node:fs";

/** The pages whose examples are programs with the client. */
export const EXAMPLE_PAGES: readonly string[] = ["client/README.md", "docs/how-to/client.md"];

export interface Examples {
  /** The first example, which the others continue. */
  readonly prelude: string;
  readonly blocks: readonly string[];
}

/** Returns the examples of a page. */
export function examplesOf(page: string): Examples {
  const [prelude, ...blocks] = [...readFileSync(page, "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, code]) => code!,
  );
  return { prelude: prelude!, blocks };
}

/** Returns the expected output of an example: the comments after `console.log`. */
export function expectedOutput(block: string): string[] {
  return [...block.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text!);
}
