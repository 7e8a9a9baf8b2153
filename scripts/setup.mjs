// Installs what a machine needs, and does nothing if everything is installed. Runs on Node 20, before anything is installed.
//   node scripts/setup.mjs --for start|test|bench
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const purpose = process.argv[process.argv.indexOf("--for") + 1];

installDependencies();
checkRuntime();
run(path.join(root, "scripts/node"), ["scripts/build.ts"]);
if (process.platform === "linux") {
  installProgram("bwrap", "bubblewrap");
  if (purpose === "bench") installProgram("wrk", "wrk");
  if (purpose === "bench" || purpose === "test") {
    installProgram("redis-server", "redis-server");
    installProgram("nginx", "nginx-light");
  }
  if (purpose === "test") {
    // The assemblers, with which tests compare the stub's machine code.
    installProgram("x86_64-linux-gnu-as", "binutils-x86-64-linux-gnu");
    installProgram("aarch64-linux-gnu-as", "binutils-aarch64-linux-gnu");
    // Emulates a container engine.
    installProgram("crun", "crun");
    installProgram("ip", "iproute2");
    // Starts a service with a wrong clock.
    installProgram("faketime", "faketime");
    // Creates certificates.
    installProgram("openssl", "openssl");
    // Checks metrics and alert rules.
    installProgram("promtool", "prometheus");
    // Runs the client in a browser.
    installProgram("chromium", "chromium");
  }
}

/** Runs `npm ci`, unless the installed packages came from the same lock file. */
function installDependencies() {
  const lock = createHash("sha256")
    .update(readFileSync(path.join(root, "package-lock.json")))
    .digest("hex");
  const stamp = path.join(root, "node_modules/.caisson-setup");
  const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  const extent = purpose === "test" ? "all" : "production";
  if (installed === `${lock} all` || installed === `${lock} ${extent}`) return;
  say("installing dependencies from the lock file");
  const omit = extent === "production" ? ["--omit=dev"] : [];
  run("npm", ["ci", "--loglevel=error", "--ignore-scripts", ...omit]);
  writeFileSync(stamp, `${lock} ${extent}`);
}

function checkRuntime() {
  const version = execFileSync(path.join(root, "scripts/node"), ["-p", "process.versions.node"], { encoding: "utf8" });
  if (Number.parseInt(version) >= 24) return;
  fail(`caisson needs Node 24 or newer, and this system has ${version.trim()}: install it from https://nodejs.org`);
}

/** Installs a program of the system if that needs no password, otherwise prints the command. */
function installProgram(program, debianPackage) {
  if (onPath(program)) return;
  const install = `apt-get install -y ${debianPackage}`;
  const become = process.getuid() === 0 ? [] : ["sudo", "-n"];
  const allowed = onPath("apt-get") && (become.length === 0 || spawnSync("sudo", ["-n", "true"]).status === 0);
  if (!allowed) {
    say(`${program} is missing: install the package ${debianPackage}, on Debian and Ubuntu with: sudo ${install}`);
    return;
  }
  say(`installing ${debianPackage}`);
  const command = [...become, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"];
  const apt = (...words) => spawnSync(command[0], [...command.slice(1), ...words], { encoding: "utf8" });
  if (apt("install", "-y", debianPackage).status === 0) return;
  apt("update");
  const { status, stderr } = apt("install", "-y", debianPackage);
  if (status !== 0) say(`${debianPackage} could not be installed:\n${stderr}\nInstall it with: sudo ${install}`);
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
