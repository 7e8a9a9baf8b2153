import { groupsOf } from "./cgroup-mounts.ts";
import { openVersion1 } from "./cgroup-v1.ts";
import { openVersion2 } from "./cgroup-v2.ts";
import type { Cgroups, ResourceLimits } from "./cgroup.ts";

/** Opens the control groups that this process may create, or returns null if it may not create any. */
export async function openCgroups(limits: ResourceLimits): Promise<Cgroups | null> {
  const groups = await groupsOf("self");
  return (await openVersion2(groups.get("cgroup2"), limits)) ?? (await openVersion1(groups, limits));
}
