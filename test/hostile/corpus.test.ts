import { makeHome } from "../contract/service.ts";
import { makeUserHome, whyNoUser } from "../contract/user.ts";
import type { Attack } from "./attack.ts";
import { type Held, holdCorpus } from "./corpus.ts";

/** Every level that keeps hostile code in has to stand the whole corpus. */
const WHOLE: readonly Held[] = ["namespaces", "confined"].map((level) => {
  return { level, started: "by whoever runs the tests", make: makeHome, skip: false, chosen: () => true };
});

/** What a guest meets differently that has the service's user and the host's root: files, processes and the kernel. */
const KINDS: ReadonlySet<string> = new Set(["escapes", "files", "processes", "signals", "sockets"]);
const OF_A_USER: Held = {
  level: "confined",
  started: "by a user",
  make: makeUserHome,
  skip: whyNoUser(),
  chosen: ({ kind }: Attack) => KINDS.has(kind),
};

for (const held of [...WHOLE, OF_A_USER]) holdCorpus(held);
