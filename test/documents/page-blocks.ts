import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(import.meta.dirname, "../..");
/** A fence, with the comments above it that are for the tests. */
const FENCE = /((?:^<!-- test: [^\n]* -->\n\n?)*)^```(\w+)\n(.*?)^```$/gms;

/** A code block of a page. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The name of the file that commands of the page use, from `<!-- test: file NAME -->`. */
  readonly file: string | null;
  /** The test that covers the block where it cannot run here, from `<!-- test: in test/... -->`. */
  readonly coveredBy: string | null;
}

/** Returns the paths of all pages. */
export function pages(): string[] {
  const below = readdirSync(path.join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
  const docs = below.filter((name) => name.endsWith(".md")).map((name) => path.join("docs", name));
  return ["README.md", "SECURITY.md", "AGENTS.md", "CHANGELOG.md", "client/README.md", ...docs];
}

export function blocksOf(page: string): Block[] {
  const text = readFileSync(path.join(ROOT, page), "utf8");
  return [...text.matchAll(FENCE)].map(([, comments, language, block]) => ({
    language: language!,
    text: block!,
    file: /test: file (\S+)/.exec(comments!)?.[1] ?? null,
    coveredBy: /test: in (\S+)/.exec(comments!)?.[1] ?? null,
  }));
}
