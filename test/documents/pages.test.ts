import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";

import type { Command } from "commander";

import { program } from "../../src/cli/program.ts";
import { SETTINGS } from "../../src/config.ts";
import { pages } from "./page-blocks.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const PAGES = pages();
const README_LINES = 100;
/** The maximum number of characters of a cell. A terminal wraps a longer cell so often that its row is not readable. */
const CELL_CHARACTERS = 200;

/** Flags of other programs that the pages name. */
const OTHERS_FLAGS: Readonly<Record<string, readonly string[]>> = {
  bubblewrap: ["--seccomp", "--disable-userns"],
  curl: ["--data", "--data-binary"],
  docker: [
    ...["--cap-add", "--cap-drop", "--cpus", "--memory", "--name", "--pids-limit", "--privileged"],
    ...["--read-only", "--rm", "--runtime", "--time", "--security-opt", "--tmpfs"],
  ],
  "claude code": ["--header", "--transport"],
  esbuild: ["--platform", "--target"],
  npm: ["--global", "--save-exact", "--save-optional"],
  "scripts of this project": ["--check", "--only", "--quick", "--write"],
  v8: ["--freeze-flags-after-init"],
};

describe("the documents", () => {
  it("link to files and headings that exist", () => {
    const broken = PAGES.flatMap((page) =>
      linksOf(page)
        .filter((link) => !exists(page, link))
        .map(at(page)),
    );
    assert.deepEqual(broken, []);
  });

  it("are all reachable by links from README.md", () => {
    const reached = new Set(["README.md"]);
    for (const page of reached) {
      for (const link of linksOf(page)) {
        const target = path.join(path.dirname(page), link.split("#")[0]!);
        if (target.endsWith(".md") && existsSync(path.join(ROOT, target))) reached.add(target);
      }
    }
    const unreachable = PAGES.filter((page) => !reached.has(page));
    assert.deepEqual(unreachable, []);
  });

  it("name only flags that a command has", () => {
    const known = new Set([...flagsOf(program()), ...settingFlags(), ...Object.values(OTHERS_FLAGS).flat()]);
    const unknown = PAGES.flatMap((page) =>
      namedFlags(page)
        .filter((flag) => !known.has(flag))
        .map(at(page)),
    );
    assert.deepEqual(unknown, []);
  });

  it("name all flags of other programs that this test allows", () => {
    const named = new Set(PAGES.flatMap(namedFlags));
    const unused = Object.values(OTHERS_FLAGS)
      .flat()
      .filter((flag) => !named.has(flag));
    assert.deepEqual(unused, []);
  });

  it(`have at most ${README_LINES} lines in README.md`, () => {
    assert.ok(linesOf("README.md").length <= README_LINES);
  });

  it(`have cells of at most ${CELL_CHARACTERS} characters in SECURITY.md`, () => {
    const cells = linesOf("SECURITY.md")
      .filter((line) => line.startsWith("|"))
      .flatMap((line) => line.split("|").map((cell) => cell.trim()));
    assert.deepEqual(
      cells.filter((cell) => cell.length > CELL_CHARACTERS),
      [],
    );
  });
});

function read(page: string): string {
  return readFileSync(path.join(ROOT, page), "utf8");
}

function linesOf(page: string): string[] {
  return read(page).trimEnd().split("\n");
}

/** Removes code blocks, because code can look like a link or a heading. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, "");
}

/** Returns the targets of a page's links and images that are in this repository. */
function linksOf(page: string): string[] {
  const prose = withoutBlocks(read(page)).replaceAll(/`[^`\n]*`/g, "code");
  const targets = [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target!);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

function exists(page: string, link: string): boolean {
  const [file, anchor] = link.split("#") as [string, string?];
  const target = file === "" ? page : path.join(path.dirname(page), file);
  if (!existsSync(path.join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(target).includes(anchor);
}

/** Returns the anchors that GitHub creates for the headings. */
function anchorsOf(page: string): string[] {
  const headings = [...withoutBlocks(read(page)).matchAll(/^#{1,6} (.+)$/gm)].map(([, text]) => text!);
  const seen = new Map<string, number>();
  return headings.map((heading) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}

/** Returns the flags in inline code and code blocks. */
function namedFlags(page: string): string[] {
  return [...read(page).matchAll(/(?<=^|[\s`"([])--[a-z][a-z0-9-]*/gm)].map(([flag]) => flag);
}

function settingFlags(): string[] {
  return Object.values(SETTINGS).map(({ flag }) => flag.split(" ")[0]!);
}

/** Returns the flags in the help texts of a command and of its subcommands. */
function flagsOf(command: Command): string[] {
  const own = command.createHelp().visibleOptions(command);
  return [...own.map(({ long }) => long!), ...command.commands.flatMap(flagsOf)];
}

function at(page: string): (what: string) => string {
  return (what) => `${page}: ${what}`;
}
