import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Asks for a line on the terminal without showing what is typed. */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  lines.once("SIGINT", () => {
    process.stderr.write("\n");
    process.exit(130);
  });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}

/** Asks a question on the terminal. Without a terminal nothing is asked, because a script has decided already. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
