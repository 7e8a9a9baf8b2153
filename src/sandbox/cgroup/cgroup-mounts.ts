import { readFile } from "node:fs/promises";
import path from "node:path";

/** The folders of a process's groups, by controller. The name for version 2 is `cgroup2`. */
export type GroupFolders = ReadonlyMap<string, string>;

/** Returns the groups of a process. @throws {Error} if there is no such process. */
export async function groupsOf(pid: number | "self"): Promise<GroupFolders> {
  return groupFolders(await readFile("/proc/self/mountinfo", "utf8"), await readFile(`/proc/${pid}/cgroup`, "utf8"));
}

/**
 * @param mountinfo the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
 * @param membership the text of `/proc/<pid>/cgroup` (cgroups(7)).
 */
export function groupFolders(mountinfo: string, membership: string): GroupFolders {
  const mounts = readMounts(mountinfo);
  const folders = new Map<string, string>();
  for (const line of membership.split("\n").filter(Boolean)) {
    const [, controllers, group] = /^\d+:([^:]*):(.*)$/.exec(line)!;
    for (const controller of controllers === "" ? ["cgroup2"] : controllers!.split(",")) {
      const folder = folderOf(group!, mounts.get(controller) ?? []);
      if (folder !== null) folders.set(controller, folder);
    }
  }
  return folders;
}

interface Mount {
  /** The group at the root of the mount. In a container it is often not the root of the hierarchy. */
  readonly root: string;
  readonly folder: string;
}

function readMounts(mountinfo: string): ReadonlyMap<string, readonly Mount[]> {
  const mounts = new Map<string, Mount[]>();
  for (const line of mountinfo.split("\n").filter(Boolean)) {
    const [mount = "", filesystem = ""] = line.split(" - ");
    const [, , , root, folder] = mount.split(" ");
    const [type, , options] = filesystem.split(" ");
    const controllers = type === "cgroup2" ? ["cgroup2"] : type === "cgroup" ? options!.split(",") : [];
    for (const controller of controllers) {
      mounts.set(controller, [...(mounts.get(controller) ?? []), { root: root!, folder: folder! }]);
    }
  }
  return mounts;
}

/** Returns the folder of a group, or null if no mount shows it. */
function folderOf(group: string, mounts: readonly Mount[]): string | null {
  for (const { root, folder } of mounts) {
    const below = path.posix.relative(root, group);
    if (below !== ".." && !below.startsWith("../")) return path.posix.join(folder, below);
  }
  return null;
}
