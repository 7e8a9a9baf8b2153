import { readFile } from "node:fs/promises";

/** The settings by which kernels and distributions forbid user namespaces: the forbidding value, and the remedy. */
const SWITCHES = [
  { name: "kernel.unprivileged_userns_clone", forbids: "0", remedy: "kernel.unprivileged_userns_clone=1" },
  { name: "user.max_user_namespaces", forbids: "0", remedy: "user.max_user_namespaces=15000" },
  {
    name: "kernel.apparmor_restrict_unprivileged_userns",
    forbids: "1",
    remedy: "kernel.apparmor_restrict_unprivileged_userns=0",
  },
] as const;

/** Returns how to allow user namespaces, as far as the kernel's settings show what forbids them. */
export async function userNamespaceRemedy(): Promise<string> {
  const checks = SWITCHES.map(async ({ name, forbids, remedy }) => {
    const value = await readFile(`/proc/sys/${name.replaceAll(".", "/")}`, "latin1").catch(() => "");
    return value.trim() === forbids ? remedy : null;
  });
  const remedies = (await Promise.all(checks)).filter((remedy) => remedy !== null);
  if (remedies.length > 0) return `user namespaces are switched off; run: sudo sysctl -w ${remedies.join(" ")}`;
  return (
    "user namespaces are refused, but not by a kernel setting; in a container, the engine's seccomp and AppArmor " +
    "profiles refuse them: do not weaken the profiles, use --isolation confined, which needs no namespaces"
  );
}
