import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { before, describe, it } from "node:test";

import packageJson from "../../package.json" with { type: "json" };
import { endOf, runContainer } from "./container.ts";
import { imageConfig, readContext, readCopy, readDockerfile } from "./dockerfile.ts";
import { buildImage, type Image } from "./image.ts";
import { whyNoContainer } from "./runtime.ts";

describe("the Dockerfile", () => {
  it("uses maintained base images with a version, and names no other host", () => {
    for (const { base } of readDockerfile()) assert.match(base, /^(?:debian|node):[\w.-]*bookworm-slim$/);
    for (const { text } of readDockerfile().flatMap(({ instructions }) => instructions))
      assert.ok(!text.includes("//"));
  });

  it("receives only the files that it copies", () => {
    const copied = readDockerfile()
      .flatMap(({ instructions }) => instructions)
      .filter(({ name }) => name === "COPY")
      .map(({ text }) => readCopy(text))
      .filter(({ from }) => from === null)
      .flatMap(({ sources }) => sources);
    assert.deepEqual([...new Set(copied)].toSorted(), readContext().toSorted());
  });
});

describe("the lines of docs/how-to/container-image.md", () => {
  const page = readFileSync(path.join(import.meta.dirname, "../../docs/how-to/container-image.md"), "utf8");

  it("require no privilege", () => {
    const lines = page.match(/docker (?:run|build) [^\n`]*/g)!;
    assert.ok(lines.some((line) => line === "docker run -p 7070:7070 caisson"));
    for (const line of lines)
      assert.doesNotMatch(line, /privileged|cap-add|security-opt|device|userns|pid=|unconfined/);
  });

  it("find the token where the image keeps it", () => {
    const { environment } = imageConfig(readDockerfile().at(-1)!);
    assert.ok(page.includes(`docker exec caisson cat ${environment["CAISSON_DATA"]}/admin.token`));
  });
});

describe("the image that it makes", { skip: whyNoContainer() }, () => {
  let image: Image;
  before(() => {
    image = buildImage();
  });

  it("contains the service, its Node and esbuild, and no packages, which are in its build", () => {
    const app = path.join(image.rootfs, "app");
    assert.deepEqual(readdirSync(app).toSorted(), ["dist", "node_modules", "package.json", "scripts"]);
    const installed = globSync("{*,@*/*}/package.json", { cwd: path.join(app, "node_modules") }).map((file) =>
      path.dirname(file),
    );
    assert.deepEqual(installed.toSorted(), [`@esbuild/linux-${process.arch}`, `node-linux-${process.arch}`]);
  });

  it("has the web console in its build", () => {
    const names = readdirSync(path.join(image.rootfs, "app/dist/console"));
    assert.ok(names.includes("index.html") && names.includes("console"), names.join(", "));
  });

  it("runs a subcommand instead of the service, on the Node that this release pins", async () => {
    const { stdout } = await endOf(runContainer(image, {}, ["doctor", "--json"]));
    const { layers } = JSON.parse(stdout) as { layers: { layer: string; proof: string }[] };
    const pinned = packageJson.optionalDependencies[`node-linux-${process.arch as "x64" | "arm64"}`];
    assert.equal(layers.find(({ layer }) => layer === "Node")!.proof, `${pinned}, the version pinned by this release`);
  });

  it("refuses to start if the requested namespaces are refused, and reports the cause", async () => {
    const { code, stdout, stderr } = await endOf(runContainer(image, {}, ["serve", "--isolation", "namespaces"]));
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^caisson: no guest can be started: .*the engine's seccomp and AppArmor profiles refuse them/);
  });
});
