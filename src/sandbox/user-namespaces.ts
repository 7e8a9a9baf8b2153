import { readFile } from "node:fs/promises";

/** Settings by which kernels and distributions forbid user namespaces: the value that does, and what to set instead. */
const SWITCHES = [
  { name: "kernel.unprivileged_userns_clone", forbids: "0", mend: "kernel.unprivileged_userns_clone=1" },
  { name: "user.max_user_namespaces", forbids: "0", mend: "user.max_user_namespaces=15000" },
  {
    name: "kernel.apparmor_restrict_unprivileged_userns",
    forbids: "1",
    mend: "kernel.apparmor_restrict_unprivileged_userns=0",
  },
] as const;

/** What to set so that user namespaces can be made, as far as the kernel says what forbids them. */
export async function userNamespaceRemedy(): Promise<string> {
  const looks = SWITCHES.map(async ({ name, forbids, mend }) => {
    const value = await readFile(`/proc/sys/${name.replaceAll(".", "/")}`, "latin1").catch(() => "");
    return value.trim() === forbids ? mend : null;
  });
  const mends = (await Promise.all(looks)).filter((mend) => mend !== null);
  if (mends.length > 0) return `user namespaces are switched off; run: sudo sysctl -w ${mends.join(" ")}`;
  return (
    "user namespaces are refused, and no setting of the kernel says why; in a container, its engine's seccomp and " +
    "AppArmor profiles do that, and should not be weakened: --isolation confined needs no namespaces"
  );
}
