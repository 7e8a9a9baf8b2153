import type { Finding } from "../finding.ts";
import { bubblewrapVersion, findBubblewrap, INSTALL_BUBBLEWRAP, tryNamespaces } from "../sandbox/bubblewrap.ts";
import { userNamespaceRemedy } from "../sandbox/user-namespaces.ts";

/** Examines bubblewrap, which creates the namespaces, and whether the kernel permits it to create them. */
export async function examineBubblewrap(): Promise<Finding[]> {
  const layer = "bubblewrap";
  const bwrap = await findBubblewrap().catch(() => null);
  if (bwrap === null) return [{ layer, state: "open", proof: "not on the PATH", remedy: INSTALL_BUBBLEWRAP }];
  try {
    const proof = `${await bubblewrapVersion(bwrap)} at ${bwrap}`;
    return [{ layer, state: "held", proof }, await examineUserNamespaces(bwrap)];
  } catch (error) {
    const proof = `${bwrap} does not run: ${(error as Error).message}`;
    return [{ layer, state: "open", proof, remedy: INSTALL_BUBBLEWRAP }];
  }
}

async function examineUserNamespaces(bwrap: string): Promise<Finding> {
  const layer = "user namespaces";
  try {
    await tryNamespaces(bwrap);
    return { layer, state: "held", proof: "bubblewrap created them, as a guest's user" };
  } catch (error) {
    return { layer, state: "open", proof: (error as Error).message, remedy: await userNamespaceRemedy() };
  }
}
