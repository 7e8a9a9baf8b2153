import type { ContainerPolicy } from "../../policies/store.ts";

/** Returns what an administrator has set for a container, as answers show it. */
export function viewOfPolicy({ limits, ...policy }: ContainerPolicy): object {
  return { limits, ...describePolicy(policy) };
}

/** Returns the members of a policy other than its limits. */
export function describePolicy({ labels, description, suspended }: Omit<ContainerPolicy, "limits">): object {
  return {
    labels,
    description,
    suspended: suspended && { at: new Date(suspended.at).toISOString(), by: suspended.by },
  };
}
