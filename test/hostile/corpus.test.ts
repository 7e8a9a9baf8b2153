import { makeHome } from "../contract/service.ts";
import { makeUserHome, whyNoUser } from "../contract/user.ts";
import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { type Attack, readAttacks } from "./attack.ts";
import { type Held, holdCorpus } from "./corpus.ts";

/** Every level that isolates hostile code. */
const LEVELS = ["namespaces", "confined"] as const;
/**
 * Classes whose answers do not depend on the sandbox, but only on the guest's program and on the service. A tenth of
 * these attacks run, and half of the attacks that are not about the kernel, at one random level each. `npm run test:long` runs all attacks at all levels.
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
/** Bombs that limits of V8 and of the service end. The sandbox limits all other bombs. */
const ALIKE_BOMBS: ReadonlySet<string> = new Set([
  ...["aggregate", "array-length", "array-spread", "contexts", "error-causes", "error-message", "functions"],
  ...["heap-at-once", "heap-objects", "intervals", "listeners", "log", "log-escapes", "log-line", "map-and-set"],
  ...["modules", "promise-all", "promises", "random", "recursion", "recursion-caught", "regular-expressions"],
  ...["result", "result-deep", "result-longest", "result-wide", "stderr", "string-doubled", "string-flattened"],
  ...["string-replace", "timers"],
]);

/** Classes about files, processes and the kernel: their answers depend most on the sandbox and on its user. */
const OF_THE_KERNEL: ReadonlySet<string> = new Set(["escapes", "files", "processes", "signals", "sockets"]);
/** Classes of which every attack runs at every level. The corpus counts the refusals of the attacks on the network. */
const WHOLE_CLASSES: ReadonlySet<string> = new Set([...OF_THE_KERNEL, "egress"]);

const random = seeded();
console.log(
  `SEED=${random.seed} selects a tenth of the attacks that have the same answer at every level, half of the others ` +
    "that are not about the kernel or the network, a level for each, and a third of the attacks on a service of a user",
);
/** The level of each attack; "all" for classes that run as a whole, and null for those that are left out. */
const drawn = new Map(
  readAttacks("namespaces").map((attack) => {
    const level = isAlike(attack)
      ? random.pick([...LEVELS, ...Array<null>(18).fill(null)])
      : random.pick([...LEVELS, null, null]);
    return [nameOf(attack), WHOLE_CLASSES.has(attack.kind) ? "all" : level];
  }),
);
const ofUser = new Set(
  readAttacks("confined")
    .map(nameOf)
    .filter(() => random.pick([true, false, false])),
);

const WHOLE: readonly Held[] = LEVELS.map((level) => {
  const chosen = (attack: Attack): boolean => isLong || ["all", level].includes(drawn.get(nameOf(attack)) ?? "");
  return { level, started: "by the user of the tests", make: makeHome, skip: false, chosen };
});

const OF_A_USER: Held = {
  level: "confined",
  started: "by a user",
  make: makeUserHome,
  skip: whyNoUser(),
  chosen: (attack: Attack) => OF_THE_KERNEL.has(attack.kind) && (isLong || ofUser.has(nameOf(attack))),
};

for (const held of [...WHOLE, OF_A_USER]) holdCorpus(held);

function isAlike({ kind, name }: Attack): boolean {
  return ALIKE.has(kind) || (kind === "bombs" && ALIKE_BOMBS.has(name));
}

function nameOf({ kind, name }: Attack): string {
  return `${kind}/${name}`;
}
