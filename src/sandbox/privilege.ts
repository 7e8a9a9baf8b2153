import { readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";

/** Bits of a capability set (capabilities(7)). */
const CAP_CHOWN = 0;
const CAP_KILL = 5;
const CAP_SETGID = 6;
const CAP_SETUID = 7;
const CAP_SYS_CHROOT = 18;
const NEEDED = [CAP_CHOWN, CAP_KILL, CAP_SETGID, CAP_SETUID];
const ALL_CAPABILITIES = ["CapInh", "CapPrm", "CapEff", "CapAmb"];
/** An id that administrators and distributions do not assign. It is below the ids of guests. */
const UNASSIGNED_ID = 0x6fff_ffff;
const USER = "caisson";

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** The number of ids in a user namespace for a whole system, such as a rootless container. */
const USUAL_IDS = 65_536;

/**
 * Returns whether this process may change to other users, and kill processes of these users, which needs CAP_KILL. Root
 * normally may. Root in a container without these capabilities may not, nor root of a user namespace with few ids. The user
 * id shows neither, so this reads the kernel's capability sets and id map.
 */
export function isPrivileged(): boolean {
  return process.platform === "linux" && highestId() >= USUAL_IDS - 1 && isCapable(...NEEDED);
}

/** Returns whether this process can also give each guest a separate root directory (chroot(2)). */
export function mayChangeRoot(): boolean {
  return isPrivileged() && isCapable(CAP_SYS_CHROOT);
}

/** Returns the effective user and group of this process. */
export function ownIdentity(): Identity {
  return { uid: process.geteuid!(), gid: process.getegid!() };
}

function isCapable(...capabilities: readonly number[]): boolean {
  const effective = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))![1]!}`);
  return capabilities.every((bit) => (effective >> BigInt(bit)) & 1n);
}

/**
 * Returns the user that a service becomes after it was started as root: the named user, otherwise the owner of the data
 * folder, otherwise the system's user `caisson`, otherwise an unassigned id.
 *
 * @param user a user name, or a user id in decimal digits.
 * @throws {Error} if this system does not have the user, or the user is root.
 */
export async function serviceIdentity(user: string | null, data: string): Promise<Identity> {
  const users = await readUsers();
  if (user !== null) {
    const found = users.get(user) ?? (/^\d+$/.test(user) ? sameId(Number(user), users) : undefined);
    if (!found) throw new Error(`--user ${user}: this system has no such user`);
    if (found.uid === 0) throw new Error("--user: the service gives up root; name another user");
    return found;
  }
  const { uid, gid } = await stat(data);
  return uid === 0 ? (users.get(USER) ?? sameId(Math.min(UNASSIGNED_ID, highestId()), users)) : { uid, gid };
}

/** Returns the highest user id of this user namespace (user_namespaces(7)). */
export function highestId(): number {
  const ranges = readFileSync("/proc/self/uid_map", "utf8").trim().split("\n");
  return Math.max(
    ...ranges.map((range) => range.trim().split(/\s+/).map(Number)).map(([first, , size]) => first! + size! - 1),
  );
}

/**
 * Changes this process to a user without capabilities, permanently: user, group and supplementary groups, of all threads.
 *
 * @throws {Error} if any privilege of root remains.
 */
export function giveUpRoot({ uid, gid }: Identity): void {
  process.setgroups!([]);
  process.setgid!(gid);
  process.setuid!(uid);
  const status = readFileSync("/proc/self/status", "utf8");
  const isGone =
    new RegExp(`^Uid:(?:\\s+${uid}){4}$`, "m").test(status) &&
    new RegExp(`^Gid:(?:\\s+${gid}){4}$`, "m").test(status) &&
    ALL_CAPABILITIES.every((set) => new RegExp(`^${set}:\\s+0+$`, "m").test(status));
  if (!isGone)
    throw new Error("root could not be given up; start the service as a user, or name another user with --user");
}

function sameId(id: number, users: ReadonlyMap<string, Identity>): Identity {
  return [...users.values()].find(({ uid }) => uid === id) ?? { uid: id, gid: id };
}

/** Reads passwd(5). On a system without this file, users have only ids. */
async function readUsers(): Promise<ReadonlyMap<string, Identity>> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n").map((line) => line.split(":"));
  return new Map(
    lines
      .filter((fields) => fields.length >= 4)
      .map(([name, , uid, gid]) => [name!, { uid: Number(uid), gid: Number(gid) }]),
  );
}
