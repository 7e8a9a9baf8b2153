import { type MakeStep, numbers, type Step, text } from "./steps.ts";

/** What the guest may do with a file, or with a folder and all below it. Whatever has no rule it can neither open nor change. */
export interface LandlockRule {
  readonly path: string;
  /** `execute` and `read` are for files, `tree` and `write` for folders; `execute` and `write` include reading. */
  readonly rights: "execute" | "read" | "tree" | "write";
}

export interface LandlockPolicy {
  /** What the kernel has; 1 or more. */
  readonly abi: number;
  readonly rules: readonly LandlockRule[];
}

/** LANDLOCK_ACCESS_FS_* of linux/landlock.h. */
const FS = {
  execute: 1 << 0,
  writeFile: 1 << 1,
  readFile: 1 << 2,
  readFolder: 1 << 3,
  removeFolder: 1 << 4,
  removeFile: 1 << 5,
  makeFolder: 1 << 7,
  makeFile: 1 << 8,
  // To another folder; without this right that is refused in any case.
  move: 1 << 13,
  truncate: 1 << 14,
};

const RIGHTS: Readonly<Record<LandlockRule["rights"], number>> = {
  execute: FS.execute | FS.readFile,
  read: FS.readFile,
  tree: FS.readFile | FS.readFolder,
  // No links, sockets, pipes and devices.
  write:
    FS.readFile |
    FS.readFolder |
    FS.writeFile |
    FS.truncate |
    FS.makeFile |
    FS.makeFolder |
    FS.removeFile |
    FS.removeFolder |
    FS.move,
};

/** All rights to files that an ABI knows, by its number: 2 added moving, 3 truncating, 5 calls to devices. */
const KNOWN_FS_RIGHTS = [0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff];
/** Binding and connecting by TCP, since ABI 4. */
const NETWORK_RIGHTS = 3;
/** Abstract Unix sockets of, and signals to, whoever is not under the same rules; since ABI 6. */
const SCOPES = 3;

/** An array of the last known size serves all later ABIs. */
function knownRights(abi: number): number {
  return KNOWN_FS_RIGHTS[Math.min(abi, KNOWN_FS_RIGHTS.length - 1)]!;
}

const LANDLOCK_RULE_PATH_BENEATH = 1;
const LANDLOCK_CREATE_RULESET_VERSION = 1;
const AT_FDCWD = -100;
/** O_PATH | O_CLOEXEC. */
const OPEN_PATH = 0x28_0000;

/**
 * Everything is handled that the kernel can, so that what has no rule is refused (landlock(7)). To be played when the
 * process has no other thread: before ABI 8 it holds for the calling thread and those that it makes.
 *
 * @param descriptor the lowest that is free; that one and one more a rule are used, and closed again.
 */
export function landlockSteps(step: MakeStep, { abi, rules }: LandlockPolicy, descriptor: number): Step[] {
  const handled = knownRights(abi);
  const ruleset = numbers(handled, ...(abi >= 4 ? [NETWORK_RIGHTS] : []), ...(abi >= 6 ? [SCOPES] : []));
  return [
    step("landlock_create_ruleset", [ruleset, ruleset.bytes.length, 0], "landlock"),
    ...rules.flatMap(({ path, rights }, index) => {
      const file = descriptor + 1 + index;
      // struct landlock_path_beneath_attr, which is packed.
      const rule = Buffer.alloc(12);
      rule.writeBigUInt64LE(BigInt(RIGHTS[rights] & handled));
      rule.writeInt32LE(file, 8);
      return [
        step("openat", [AT_FDCWD, text(path), OPEN_PATH, 0], `landlock path ${path}`),
        step(
          "landlock_add_rule",
          [descriptor, LANDLOCK_RULE_PATH_BENEATH, { bytes: rule }, 0],
          `landlock rule ${path}`,
        ),
      ];
    }),
    step("landlock_restrict_self", [descriptor, 0], "landlock restriction"),
    step("close_range", [descriptor, descriptor + rules.length, 0]),
  ];
}

/** Answers with the number of the ABI; fails where the kernel has none, or a filter around this process refuses it. */
export function landlockAbiStep(step: MakeStep): Step {
  return step("landlock_create_ruleset", [0, 0, LANDLOCK_CREATE_RULESET_VERSION]);
}
