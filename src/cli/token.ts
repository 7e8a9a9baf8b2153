import path from "node:path";

import { Command } from "commander";

import type { Config } from "../config.ts";
import { administer } from "./administer.ts";
import { fail } from "./fail.ts";
import { gather } from "./gather.ts";
import { load } from "./load.ts";
import { addSettings, settingsOf } from "./settings.ts";
import type { IssueFlags } from "./token-members.ts";

/** Where the service listens, and what is read when it is not asked. */
const PLACE = ["host", "port", "data", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;
const OFFLINE = ["keys", "secretsKey", "redis", "redisPasswordFile", "redisCa", "realm"] as const;

export function tokenCommand(): Command {
  return new Command("token").description("tokens").addCommand(issueCommand());
}

function issueCommand(): Command {
  const command = new Command("issue")
    .description(
      "issue a token; it is printed once, to stdout. --admin reads the data folder, and the Redis that nodes share; for " +
        "others the service is asked that listens where these settings say",
    )
    .option("--admin", "an administrative token")
    .option("--container <name>", "a container that it reaches, or a beginning such as acme-*; may be repeated", gather)
    .option("--can <verbs>", "what it may do there, such as run,limits,issue", gather)
    .option("--limit <class.window=runs>", "such as container.minute=60 or token.day=1000; may be repeated", gather)
    .option("--expires <duration>", "how long it is valid, such as 12h; without it a day, with --admin until revoked")
    .option("--nbf <seconds>", "the Unix time from which on it is valid")
    .option(
      "--secret <key[=value]>",
      "a secret for its code, without a value that of the environment variable of its name; may be repeated. A value stands " +
        "in the list of processes and in the history of the shell",
      gather,
    )
    .option("--secret-file <key=path>", "a secret for its code, from a file or - for stdin; may be repeated", gather)
    .option("--secrets-readable", "code that others choose may read the secrets")
    .option("--param <key=value>", "a readable value for its code; may be repeated", gather)
    .option("--code-url <url>", "the only code that it runs")
    .option("--code-sha256 <digest>", "the digest of the only code that it runs")
    .option("--net <host>", "a place that its code reaches, and no other; may be repeated", gather)
    .option("--offline", "its code reaches no place")
    .option("--fresh", "every run in a guest that nobody has used")
    .option("--depth <generations>", "how many generations it may issue below it")
    .option("--no-self-revoke", "it cannot revoke itself");
  addSettings(command, [...PLACE, ...OFFLINE]);
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

/** Also where no service runs, or none that takes the token of its folder any more. */
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
