import { arch, platform, release } from "node:os";

import packageJson from "../../package.json" with { type: "json" };
import type { Finding } from "../finding.ts";

const ARCHITECTURES: readonly string[] = ["x64", "arm64"];
/** The first major version that strips types and has all features that the guest needs. */
const LEAST_NODE = 24;

export function examinePlatform(): Finding {
  const proof = `${platform()} ${release()}, ${arch()}`;
  if (platform() === "linux" && ARCHITECTURES.includes(arch())) return { layer: "platform", state: "held", proof };
  const remedy = "run it on Linux on x64 or arm64; elsewhere there is only --isolation none, for development";
  return { layer: "platform", state: "open", proof, remedy };
}

/** V8 is the attack surface that changes most often, so its version is part of the sandbox. */
export function examineNode(): Finding {
  const pins: Readonly<Record<string, string>> = packageJson.optionalDependencies;
  const pinned = pins[`node-${platform()}-${arch()}`] ?? "none for this system";
  const { node } = process.versions;
  const layer = "Node";
  if (node === pinned) return { layer, state: "held", proof: `${node}, the version pinned by this release` };
  const proof = `${node} of this machine; this release pins ${pinned}`;
  if (Number.parseInt(node) < LEAST_NODE) {
    return { layer, state: "open", proof, remedy: `install Node ${LEAST_NODE} or newer from https://nodejs.org` };
  }
  return { layer, state: "weak", proof, remedy: "npm ci installs the pinned version; otherwise keep Node up to date" };
}
