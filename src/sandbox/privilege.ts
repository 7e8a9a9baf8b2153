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
/** Below the ids of guests; neither people nor distributions hand it out. */
const NOBODYS_ID = 0x6fff_ffff;
const USER = "caisson";

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** What a user namespace has that is made for a whole system, such as a rootless container's. */
const USUAL_IDS = 65_536;

/**
 * Whether this process may become others, and end who it has made others: root, unless a container took that from it, or
 * it is a user who is called root in a namespace of few ids. Without CAP_KILL no guest of another user could be ended. Asked of the kernel and not of the user id, which says nothing of either.
 */
export function isPrivileged(): boolean {
  return process.platform === "linux" && highestId() >= USUAL_IDS - 1 && isCapable(...NEEDED);
}

/** Whether it can also give each of those it becomes a root of its own (chroot(2)). */
export function mayChangeRoot(): boolean {
  return isPrivileged() && isCapable(CAP_SYS_CHROOT);
}

/** Who this process is now. */
export function ownIdentity(): Identity {
  return { uid: process.geteuid!(), gid: process.getegid!() };
}

function isCapable(...capabilities: readonly number[]): boolean {
  const effective = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))![1]!}`);
  return capabilities.every((bit) => (effective >> BigInt(bit)) & 1n);
}

/**
 * Who a service becomes that was started as root: the user that is named, else the owner of the data folder, else the
 * system's user `caisson`, else an id that nobody has.
 *
 * @param named a user name, or a user id in decimal digits.
 * @throws {Error} when no such user is known, or it is root.
 */
export async function serviceIdentity(named: string | null, data: string): Promise<Identity> {
  const users = await readUsers();
  if (named !== null) {
    const found = users.get(named) ?? (/^\d+$/.test(named) ? sameId(Number(named), users) : undefined);
    if (!found) throw new Error(`--user ${named}: this system knows no such user`);
    if (found.uid === 0) throw new Error("--user: root is what is given up; name another user");
    return found;
  }
  const { uid, gid } = await stat(data);
  return uid === 0 ? (users.get(USER) ?? sameId(Math.min(NOBODYS_ID, highestId()), users)) : { uid, gid };
}

/** The highest user id of this user namespace (user_namespaces(7)). */
export function highestId(): number {
  const ranges = readFileSync("/proc/self/uid_map", "utf8").trim().split("\n");
  return Math.max(
    ...ranges.map((range) => range.trim().split(/\s+/).map(Number)).map(([first, , size]) => first! + size! - 1),
  );
}

/**
 * Becomes somebody without any capability, for good: user, group and supplementary groups, of all threads.
 *
 * @throws {Error} when anything of root is left.
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
  if (!isGone) throw new Error("root could not be given up; start the service as a user, or name another with --user");
}

function sameId(id: number, users: ReadonlyMap<string, Identity>): Identity {
  return [...users.values()].find(({ uid }) => uid === id) ?? { uid: id, gid: id };
}

/** Of passwd(5). A system without that file has no users but those with a number. */
async function readUsers(): Promise<ReadonlyMap<string, Identity>> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n").map((line) => line.split(":"));
  return new Map(
    lines
      .filter((fields) => fields.length >= 4)
      .map(([name, , uid, gid]) => [name!, { uid: Number(uid), gid: Number(gid) }]),
  );
}
