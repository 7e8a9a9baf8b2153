import { type MakeStep, numbers, type Step, text } from "./steps.ts";

/** Allows access to a file, or to a folder and everything below it. A guest cannot open or change a file without a rule. */
export interface LandlockRule {
  readonly path: string;
  /** `execute` and `read` are for files, `tree` and `write` for folders; `execute` and `write` include reading. */
  readonly rights: "execute" | "read" | "tree" | "write";
}

export interface LandlockPolicy {
  /** The version of Landlock that the kernel has; 1 or more. */
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
  // Moving a file to another folder. The kernel always refuses that without this right.
  move: 1 << 13,
  truncate: 1 << 14,
};

const RIGHTS: Readonly<Record<LandlockRule["rights"], number>> = {
  execute: FS.execute | FS.readFile,
  read: FS.readFile,
  tree: FS.readFile | FS.readFolder,
  // Without links, sockets, pipes and devices.
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

/** All file rights of an ABI, by its number: 2 added moving, 3 truncating, 5 ioctl on devices. */
const KNOWN_FS_RIGHTS = [0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff];
/** Binding and connecting by TCP, since ABI 4. */
const NETWORK_RIGHTS = 3;
/** Abstract Unix sockets of other domains, and signals to processes of other domains, since ABI 6. */
const SCOPES = 3;

/** Returns all file rights of an ABI. A later ABI gets the last known rights. */
function knownRights(abi: number): number {
  return KNOWN_FS_RIGHTS[Math.min(abi, KNOWN_FS_RIGHTS.length - 1)]!;
}

const LANDLOCK_RULE_PATH_BENEATH = 1;
const LANDLOCK_CREATE_RULESET_VERSION = 1;
const AT_FDCWD = -100;
/** O_PATH | O_CLOEXEC. */
const OPEN_PATH = 0x28_0000;

/**
 * Returns steps that handle every right that the kernel can restrict, so that access without a rule is refused
 * (landlock(7)). The process must have no other thread: before ABI 8 the rules apply only to the calling thread and to
 * threads that it creates.
 *
 * @param descriptor the lowest free descriptor. The steps open it and one more for each rule, and close them again.
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

/** Returns a step whose result is the ABI. It fails if the kernel has no Landlock, or a filter around this process refuses it. */
export function landlockAbiStep(step: MakeStep): Step {
  return step("landlock_create_ruleset", [0, 0, LANDLOCK_CREATE_RULESET_VERSION]);
}
