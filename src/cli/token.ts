import path from "node:path";

import { Command } from "commander";

import { openRedis, openShared } from "../stores.ts";
import { openTokens } from "../tokens/authority.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

export function tokenCommand(): Command {
  const issue = new Command("issue")
    .description(
      "issue an administrative token from the data folder, and the Redis that nodes share; it is printed once, to stdout",
    )
    .requiredOption("--admin", "an administrative token")
    .option("--expires <duration>", "how long it is valid, such as 12h; without it, until it is revoked");
  addSettings(issue, ["data", "keys", "redis", "redisPasswordFile", "redisCa", "realm"]);
  issue.action(async () => {
    try {
      const config = settingsOf(issue);
      const { expires } = issue.opts<{ expires?: string }>();
      await using closers = new AsyncDisposableStack();
      const link = closers.adopt(await openRedis(config, null), (open) => open?.close());
      const shared = closers.adopt(link && (await openShared(config, link)), (open) => open?.close());
      const options = { create: false, registry: shared?.registry };
      const tokens = await openTokens(path.resolve(config.data), config.keys ?? undefined, options);
      const validity = expires === undefined ? { exp: null } : { expiresIn: expires };
      const { token } = await tokens.issue({ admin: true, ...validity }, "command line");
      await tokens.close();
      process.stdout.write(`${token}\n`);
    } catch (error) {
      fail(error);
    }
  });
  return new Command("token").description("tokens").addCommand(issue);
}
