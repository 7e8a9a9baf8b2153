// Installs what a machine needs, and does nothing if everything is installed. Runs on Node 20, before anything is installed.
//   node scripts/setup.mjs --for start|pack|client|test|bench
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const purpose = process.argv[process.argv.indexOf("--for") + 1];

installDependencies();
checkRuntime();
if (purpose !== "client") {
  run(path.join(root, "scripts/node"), ["scripts/build.ts"]);
  run(path.join(root, "scripts/node"), ["scripts/build-console.ts"]);
}
if (process.platform === "linux" && purpose !== "pack" && purpose !== "client") installPrograms(programsFor(purpose));

/** Returns the Debian package of each program. */
function programsFor(what) {
  const programs = { bwrap: "bubblewrap" };
  if (what === "bench") programs.wrk = "wrk";
  if (what === "bench" || what === "test")
    Object.assign(programs, { "redis-server": "redis-server", nginx: "nginx-light" });
  if (what !== "test") return programs;
  return {
    ...programs,
    // The assemblers, with which tests compare the stub's machine code.
    "x86_64-linux-gnu-as": "binutils-x86-64-linux-gnu",
    "aarch64-linux-gnu-as": "binutils-aarch64-linux-gnu",
    // Emulates a container engine.
    crun: "crun",
    ip: "iproute2",
    // Starts a service with a wrong clock.
    faketime: "faketime",
    // Creates certificates.
    openssl: "openssl",
    // Checks metrics and alert rules.
    promtool: "prometheus",
    // Runs the client in a browser.
    chromium: "chromium",
  };
}

/** Runs `npm ci`, unless the installed packages came from the same lock file. */
function installDependencies() {
  const lock = createHash("sha256")
    .update(readFileSync(path.join(root, "package-lock.json")))
    .digest("hex");
  const stamp = path.join(root, "node_modules/.caisson-setup");
  const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  // The types of the client need the compiler, which is a program of `tools`.
  const extent = purpose === "test" || purpose === "client" ? "all" : "production";
  if (installed === `${lock} all` || installed === `${lock} ${extent}`) return;
  say("installing dependencies from the lock file");
  // The workspace `tools` has the programs that check and test.
  const omit = extent === "production" ? ["--include-workspace-root", "--workspace=client", "--workspace=console"] : [];
  run("npm", ["ci", "--loglevel=error", "--ignore-scripts", ...omit]);
  writeFileSync(stamp, `${lock} ${extent}`);
}

function checkRuntime() {
  const version = execFileSync(path.join(root, "scripts/node"), ["-p", "process.versions.node"], { encoding: "utf8" });
  if (Number.parseInt(version) >= 24) return;
  fail(`caisson needs Node 24 or newer, and this system has ${version.trim()}: install it from https://nodejs.org`);
}

/** Installs programs of the system if that needs no password, otherwise prints the command. */
function installPrograms(programs) {
  const missing = Object.entries(programs).filter(([program]) => !onPath(program));
  if (missing.length === 0) return;
  const packages = missing.map(([, name]) => name);
  const install = `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  const become = process.getuid() === 0 ? [] : ["sudo", "-n"];
  const allowed = onPath("apt-get") && (become.length === 0 || spawnSync("sudo", ["-n", "true"]).status === 0);
  if (!allowed) {
    const names = missing.map(([program]) => program).join(", ");
    say(`missing programs: ${names}. Install their packages, on Debian and Ubuntu with: sudo ${install}`);
    return;
  }
  say(`installing ${packages.join(", ")}`);
  const command = [...become, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"];
  const apt = (...words) => spawnSync(command[0], [...command.slice(1), ...words], { encoding: "utf8" });
  // All at once, because each call takes seconds.
  const installAll = () => apt("install", "-y", "--no-install-recommends", ...packages);
  if (installAll().status === 0) return;
  apt("update");
  if (installAll().status === 0) return;
  // One package that does not exist must not keep the others away.
  for (const [program, name] of missing) {
    const { status, stderr } = apt("install", "-y", "--no-install-recommends", name);
    if (status !== 0) say(`${program} is missing, because ${name} could not be installed:\n${stderr}`);
  }
}

function onPath(program) {
  return (process.env.PATH ?? "").split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function run(program, words) {
  // Its output goes to stderr: stdout belongs to the command that is being set up.
  const { status, error } = spawnSync(program, words, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) fail(`${program} ${words.join(" ")} failed${error ? `: ${error.message}` : ""}`);
}

function say(line) {
  console.error(`caisson: ${line}`);
}

function fail(line) {
  say(line);
  process.exit(1);
}
