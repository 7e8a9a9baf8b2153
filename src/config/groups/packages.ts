import { many, one, type Settings } from "../setting.ts";
import { choice, duration, file, type OfScope, permits, scopeFiles, scopeUrls, size, webUrl } from "../values.ts";

export interface PackageConfig {
  readonly npm: "none" | "listed" | "any";
  readonly npmAllow: readonly string[];
  readonly npmRegistry: string;
  readonly npmTokenFile: string | null;
  readonly npmScope: readonly OfScope[];
  readonly npmScopeToken: readonly OfScope[];
  readonly npmMinAge: number;
  readonly packagesSize: number;
  readonly packagesTime: number;
  readonly packagesWait: number;
}

export const PACKAGES: Settings<PackageConfig> = {
  npm: one(
    "--npm <policy>",
    "listed",
    "packages that code may import: none, those listed by --npm-allow, or any; stops code from downloading what the operator did " +
      "not choose",
    choice("none", "listed", "any"),
  ),
  npmAllow: many<readonly string[]>(
    "--npm-allow <packages>",
    [],
    "package that code may import, such as zod, lodash@4 or @acme/*; its dependencies come with it",
    permits,
  ),
  npmRegistry: one(
    "--npm-registry <url>",
    "https://registry.npmjs.org",
    "registry of packages; builds of packages may reach its host and port, also a private one, and tasks may not",
    webUrl,
  ),
  npmTokenFile: one<string | null>(
    "--npm-token-file <file>",
    null,
    "token for the registry, which the service sends and no guest receives",
    file,
  ),
  npmScope: many<readonly OfScope[]>(
    "--npm-scope <scope=url>",
    [],
    "registry of a scope, such as @acme=https://npm.acme.example; stops a stranger from publishing a package of that scope in the " +
      "other registry, which is never asked for it",
    scopeUrls,
  ),
  npmScopeToken: many<readonly OfScope[]>(
    "--npm-scope-token <scope=file>",
    [],
    "token for the registry of a scope, such as @acme=/run/secrets/acme",
    scopeFiles,
  ),
  npmMinAge: one(
    "--npm-min-age <duration>",
    259_200_000,
    "age that a version of a package must have; stops versions that an attacker has just published",
    duration(0),
  ),
  packagesSize: one(
    "--packages-size <size>",
    2 ** 30,
    "disk for built packages; one token family has at most a quarter; stops a family that fills the disk",
    size(16 * 2 ** 20),
  ),
  packagesTime: one(
    "--packages-time <duration>",
    60_000,
    "longest time of one build; stops a registry that answers slowly from blocking the builds of others",
    duration(1_000),
  ),
  packagesWait: one(
    "--packages-wait <duration>",
    30_000,
    "longest time for which a change of a task waits for the build of its packages; then the build goes on, and the task " +
      "changes after it",
    duration(10),
  ),
};
