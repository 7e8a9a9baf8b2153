import path from "node:path";

/**
 * Returns the path of a file from the root of its file system. The kernel names the source of a bind mount so, which differs
 * from the path of the file if its folder is below a mount, such as a `/tmp` in memory.
 *
 * @param file an absolute path without symbolic links.
 * @param mountinfo the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
 */
export function pathOnMount(file: string, mountinfo: string): string {
  let [place, root] = ["/", "/"];
  for (const line of mountinfo.split("\n")) {
    const [source, point] = line.split(" ").slice(3, 5);
    // A later mount covers an earlier one at the same place.
    if (point !== undefined && isBelow(file, point) && point.length >= place.length) [place, root] = [point, source!];
  }
  return path.join(root, path.relative(place, file));
}

function isBelow(file: string, folder: string): boolean {
  return folder === "/" || file.startsWith(`${folder}/`);
}
