import assert from "node:assert/strict";
import { it } from "node:test";

import { packumentUrl, type Registry, registryOf, tarballUrl } from "../../src/builder/registry-urls.ts";

const PLAIN: Registry = { url: new URL("http://registry.test:4873"), token: null };
const BELOW: Registry = { url: new URL("https://host.test/api/npm/all"), token: "secret" };

it("a scope with its own registry is asked of no other", () => {
  const registries = { registry: PLAIN, scopes: new Map([["@acme", BELOW]]) };
  assert.equal(registryOf("@acme/tools", registries), BELOW);
  // A stranger may own a scope that differs in its letters only.
  assert.equal(registryOf("@ACME/tools", registries), BELOW);
  for (const name of ["acme", "@acme2/tools", "@other/acme", "zod"]) assert.equal(registryOf(name, registries), PLAIN);
});

it("a description is below the address of its registry", () => {
  assert.equal(packumentUrl("zod", PLAIN).href, "http://registry.test:4873/zod");
  assert.equal(packumentUrl("@acme/tools", BELOW).href, "https://host.test/api/npm/all/@acme%2ftools");
});

it("a tarball is a place of its package and version at the registry", () => {
  const zod = (place: string, registry: Registry = PLAIN): string | undefined =>
    tarballUrl("zod", "4.1.0", place, registry)?.href;
  assert.equal(zod("zod/-/zod-4.1.0.tgz"), "http://registry.test:4873/zod/-/zod-4.1.0.tgz");
  assert.equal(zod("http://registry.test:4873/zod/-/zod-4.1.0.tgz"), "http://registry.test:4873/zod/-/zod-4.1.0.tgz");
  // The address of a mirrored registry, and a registry whose tarballs have other places.
  assert.equal(
    zod("https://public.test/zod/-/zod-4.1.0.tgz", BELOW),
    "https://host.test/api/npm/all/zod/-/zod-4.1.0.tgz",
  );
  const scoped = "http://registry.test:4873/download/@acme/tools/1.0.0/abcdef";
  assert.equal(tarballUrl("@acme/tools", "1.0.0", scoped, PLAIN)?.href, scoped);
  const escaped = "http://registry.test:4873/@acme%2ftools/-/tools-1.0.0.tgz?x=1";
  assert.equal(tarballUrl("@acme/tools", "1.0.0+build", escaped, PLAIN)?.href, escaped);
});

it("another place at the registry's host is refused, because the credential would go there", () => {
  for (const place of [
    "-/whoami",
    "/-/npm/v1/user?zod/4.1.0",
    "zod/-/zod-4.0.0.tgz",
    "other/-/zod-4.1.0.tgz",
    "zod/../-/whoami/4.1.0",
    "zod/%2e%2e/-/user/4.1.0",
    "zod/%2e%2e%2f-/4.1.0",
    "zod/..%5c/4.1.0",
    "zod//4.1.0",
    "zod/-/zod-4.1.0.tgz%00",
    "ftp://registry.test/zod/-/zod-4.1.0.tgz",
    "http://user:pass@registry.test:4873/zod/-/zod-4.1.0.tgz",
    "zod2/-/zod-4.1.0.tgz",
    "%",
    "https://host.test/zod/-/zod-4.1.0.tgz",
  ]) {
    const registry = place.startsWith("https://host") ? BELOW : PLAIN;
    assert.equal(tarballUrl("zod", "4.1.0", place, registry), null, place);
  }
});
