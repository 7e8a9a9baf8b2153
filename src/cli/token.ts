import path from "node:path";

import { Command } from "commander";

import type { Config } from "../config.ts";
import { administer } from "./administer.ts";
import { fail } from "./fail.ts";
import { gather } from "./gather.ts";
import { load } from "./load.ts";
import { addSettings, settingsOf } from "./settings.ts";
import type { IssueFlags } from "./token-members.ts";

/** The settings for the address of the service, and for a token that is issued without the service. */
const SERVICE_SETTINGS = ["host", "port", "data", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;
const OFFLINE_SETTINGS = ["keys", "secretsKey", "redis", "redisPasswordFile", "redisCa", "realm"] as const;

export function tokenCommand(): Command {
  return new Command("token")
    .description("issue tokens")
    .addCommand(issueCommand())
    .showHelpAfterError(
      "The form is: caisson token issue --container acme. GET /api/tokens lists tokens, DELETE /api/tokens/{jti} revokes one.",
    );
}

function issueCommand(): Command {
  const command = new Command("issue")
    .description(
      "issue a token and print it once, to stdout; --admin reads the data folder, and the Redis that nodes share; other " +
        "tokens are issued by the service of these settings",
    )
    .option("--admin", "an administrative token")
    .option("--container <name>", "a container that it permits, or a prefix such as acme-*; can be repeated", gather)
    .option("--can <verbs>", "what it permits there, such as run,limits,issue", gather)
    .option("--limit <class.window=runs>", "such as container.minute=60 or token.day=1000; can be repeated", gather)
    .option("--timeout <duration>", "how long a run may take, such as 5s; the limits of the operator apply in any case")
    .option("--expires <duration>", "how long it is valid, such as 12h; default: a day, with --admin until revoked")
    .option("--nbf <seconds>", "the Unix time from which it is valid")
    .option(
      "--secret <key[=value]>",
      "a secret for its code; without a value, the value of the environment variable of this name; can be repeated. A value " +
        "on the command line is visible in the list of processes and in the shell history",
      gather,
    )
    .option("--secret-file <key=path>", "a secret for its code, from a file or - for stdin; can be repeated", gather)
    .option("--secrets-readable", "code that the caller chooses may read the secrets")
    .option("--param <key=value>", "a readable value for its code; can be repeated", gather)
    .option("--code-url <url>", "the URL of the only code that it permits")
    .option("--code-sha256 <digest>", "the SHA-256 of the only code that it permits")
    .option("--net <host>", "a destination that its code may reach; all others are denied; can be repeated", gather)
    .option("--offline", "its code has no network")
    .option("--fresh", "every run has a guest that no run has used")
    .option("--depth <generations>", "how many generations of tokens may exist below it")
    .option("--no-self-revoke", "it cannot revoke itself")
    .option("--label <name=value>", "a label, such as team=billing; can be repeated", gather)
    .option("--description <text>", "a text for readers");
  addSettings(command, [...SERVICE_SETTINGS, ...OFFLINE_SETTINGS]);
  return command.action(async () => {
    try {
      const flags = command.opts<IssueFlags>();
      const { tokenMembers } = await load(import("./token-members.ts"));
      const members = await tokenMembers(flags);
      const config = settingsOf(command);
      process.stdout.write(`${flags.admin ? await issueOffline(config, members) : await ask(config, members)}\n`);
    } catch (error) {
      fail(error);
    }
  });
}

async function ask(config: Config, members: object): Promise<string> {
  return ((await administer(config, "POST", "/api/tokens", members)) as { token: string }).token;
}

/** Issues a token without the service, which may be stopped or may reject the token of its folder. */
async function issueOffline(config: Config, members: object): Promise<string> {
  const { openRedis, openShared } = await load(import("../stores.ts"));
  const { openTokens } = await load(import("../tokens/token-service.ts"));
  await using closers = new AsyncDisposableStack();
  const link = closers.adopt(await openRedis(config, null), (open) => open?.close());
  const shared = closers.adopt(link && (await openShared(config, link)), (open) => open?.close());
  const options = {
    create: false,
    registry: shared?.registry,
    secrets: shared?.secrets,
    secretsKey: config.secretsKey ?? undefined,
  };
  const tokens = closers.adopt(await openTokens(path.resolve(config.data), config.keys ?? undefined, options), (open) =>
    open.close(),
  );
  return (await tokens.issue(members, "command line")).token;
}
