import { makeHome } from "../contract/service.ts";
import { makeUserHome, whyNoUser } from "../contract/user.ts";
import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { type Attack, readAttacks } from "./attack.ts";
import { type Held, holdCorpus } from "./corpus.ts";

/** Every level that keeps hostile code in. */
const LEVELS = ["namespaces", "confined"] as const;
/**
 * Classes that the wall has no part in: the program in the guest, and what the service makes of its frames and its silence,
 * give the answers. Each attack of them runs on one level, which is drawn. `npm run test:long` runs all attacks on all levels.
 */
const ALIKE: ReadonlySet<string> = new Set([
  "blocks",
  "headers",
  "lies",
  "parsers",
  "pollution",
  "results",
  "streams",
  "types",
]);
/** Bombs that V8 and the service end by limits of their own. The wall limits what all other bombs take. */
const ALIKE_BOMBS: ReadonlySet<string> = new Set([
  ...["aggregate", "array-length", "array-spread", "contexts", "error-causes", "error-message", "functions"],
  ...["heap-at-once", "heap-objects", "intervals", "listeners", "log", "log-escapes", "log-line", "map-and-set"],
  ...["modules", "promise-all", "promises", "random", "recursion", "recursion-caught", "regular-expressions"],
  ...["result", "result-deep", "result-longest", "result-wide", "stderr", "string-doubled", "string-flattened"],
  ...["string-replace", "timers"],
]);

const random = seeded();
console.log(`SEED=${random.seed} draws the level of each attack that has the same answer on every level`);
const drawn = new Map(readAttacks("namespaces").map((attack) => [nameOf(attack), random.pick(LEVELS)]));

const WHOLE: readonly Held[] = LEVELS.map((level) => {
  const chosen = (attack: Attack): boolean => isLong || !isAlike(attack) || drawn.get(nameOf(attack)) === level;
  return { level, started: "by whoever runs the tests", make: makeHome, skip: false, chosen };
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

function isAlike({ kind, name }: Attack): boolean {
  return ALIKE.has(kind) || (kind === "bombs" && ALIKE_BOMBS.has(name));
}

function nameOf({ kind, name }: Attack): string {
  return `${kind}/${name}`;
}
