import { Command } from "commander";

import { CaissonError } from "../../client/src/index.ts";
import { EXITS } from "./exits.ts";
import { printable } from "./print/printable.ts";
import { type Remote, remote } from "./remote.ts";
import type { Target } from "./target/target.ts";

interface HealthAnswer {
  /** `ok`, or why the service accepts no runs. */
  readonly status: string;
  readonly isolation: string;
  readonly version: string;
}

const ANSWER_MS = 5_000;

/** For monitors without an HTTP client, such as a container engine. */
export function healthCommand(): Command {
  const command = new Command("health").description("ask a service whether it accepts runs: exit code 0 if it does");
  const examples = ["health", "health --url https://caisson.example"];
  return remote(command, examples, health, { anonymous: true });
}

async function health({ target, print }: Remote): Promise<void> {
  const answer = await askHealth(target);
  const { status, version, isolation } = answer;
  print(answer, () => `${printable(`${status}: caisson ${version}, isolation ${isolation}`)}\n`);
  process.exitCode = status === "ok" ? EXITS.ok : EXITS.service;
}

/** Returns the health of a service, also if it accepts no runs. @throws {CaissonError} if no caisson answers. */
export async function askHealth({ url, fetch }: Target): Promise<HealthAnswer> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const { status, version, isolation } = Object(await answer.json()) as Partial<HealthAnswer>;
    if (typeof status === "string" && typeof version === "string" && typeof isolation === "string")
      return { status, version, isolation };
    throw new Error("the answer is not of caisson");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // OpenSSL describes its own source.
    const isPlain = code === "EPROTO" || /wrong[_ ]version/i.test(`${code} ${message}`);
    throw new CaissonError({
      code: "unreachable",
      detail: `no caisson answers at ${url}: ${isPlain ? "the answer is not encrypted" : message}`,
      hint: isPlain
        ? "Check the url: this service may speak http, and not https."
        : "Check the url, and that the service runs.",
      cause: error,
    });
  }
}
