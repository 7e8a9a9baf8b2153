/** Writes `llms.txt`: the page that the service serves, and a list of the documents. A test compares both. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { llmsText } from "../src/http/api/llms-text.ts";

const ROOT = path.dirname(import.meta.dirname);
const FOLDERS = ["docs", "docs/getting-started", "docs/how-to", "docs/reference", "docs/explanation"];

/** Returns the page for models that read this repository. */
export function llmsDocument(): string {
  const pages = FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder))
      .filter((name) => name.endsWith(".md"))
      .toSorted()
      .map((name) => path.posix.join(folder, name)),
  );
  const links = ["README.md", "client/README.md", "SECURITY.md", ...pages].map(
    (page) => `- [${titleOf(page)}](${page})`,
  );
  return `${llmsText()}\n## Documents\n\n${links.join("\n")}\n`;
}

function titleOf(page: string): string {
  return /^# (.+)$/m.exec(readFileSync(path.join(ROOT, page), "utf8"))![1]!;
}

if (import.meta.main) writeFileSync(path.join(ROOT, "llms.txt"), llmsDocument());
