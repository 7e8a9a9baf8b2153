const CONSOLE = "the web console is at the url of the service, for a browser; or at the port of --console-port";
const NO_SCHEDULE =
  "the service has no schedule: let cron call caisson run --task NAME --container NAME, or the URL of the task";
const RUN_TASK = "caisson run --task NAME --container NAME runs a deployed task";
const LISTS =
  "caisson tasks list CONTAINER, caisson containers list, caisson runs list and caisson tokens list print lists";
const REMOVALS =
  "caisson tasks delete deletes a task, caisson tokens revoke revokes a token, and caisson packages remove forbids a package";
const FOLLOW = "caisson logs CONTAINER -f follows the console and the errors";

/** Commands of other programs, and what to write instead. */
export const OTHER_COMMANDS: Readonly<Record<string, string>> = {
  exec: "caisson run task.ts runs code",
  execute: "caisson run task.ts runs code",
  eval: "write the code to stdin: echo 'return 1' | caisson run -",
  start: "caisson serve starts the service",
  stop: "Ctrl-C, or SIGTERM to its process, ends a service; caisson containers suspend stops the runs of a container",
  status: "caisson health asks whether the service takes runs, and caisson system prints its state",
  version: "caisson --version prints the version",
  invoke: RUN_TASK,
  call: RUN_TASK,
  suspend: "caisson containers suspend CONTAINER refuses its runs",
  resume: "caisson containers resume CONTAINER permits its runs again",
  restart: "caisson containers restart CONTAINER replaces its guests",
  rollback: "caisson tasks rollback CONTAINER TASK VERSION makes a version the newest again",
  cancel: "caisson runs cancel CONTAINER RUN cancels a run",
  issue: "caisson tokens issue CONTAINER issues a token",
  revoke: "caisson tokens revoke JTI revokes a token",
  ps: "caisson runs list --status running lists the runs in flight",
  tail: FOLLOW,
  log: FOLLOW,
  list: LISTS,
  ls: LISTS,
  create: "caisson init writes a project, and caisson deploy deploys its tasks",
  new: "caisson init writes a project, and caisson deploy deploys its tasks",
  publish: "caisson deploy deploys the tasks of a folder",
  push: "caisson deploy deploys the tasks of a folder",
  update: "caisson deploy puts the changed tasks of a folder into its container",
  upgrade: "an upgrade is: caisson backup, replace the program, and restart the service",
  remove: REMOVALS,
  rm: REMOVALS,
  delete: REMOVALS,
  secrets: "caisson tasks deploy --secret and caisson tokens issue --secret set secrets",
  secret: "caisson tasks deploy --secret and caisson tokens issue --secret set secrets",
  cron: NO_SCHEDULE,
  schedule: NO_SCHEDULE,
  schedules: NO_SCHEDULE,
  function: "caisson tasks lists, shows and deploys named tasks",
  functions: "caisson tasks lists, shows and deploys named tasks",
  env: "caisson tasks deploy --secret and --param set what code receives",
  install: "caisson packages add NAME permits a package, and the first run builds it",
  add: "caisson packages add NAME permits a package, and the first run builds it",
  console: CONSOLE,
  open: CONSOLE,
  ui: CONSOLE,
};

const LABEL =
  "PATCH /api/containers/{container} sets labels and the description of a container, and so does the web console";
const SET_LIMITS = "caisson limits set container NAME minute=60 sets the limits of a container";

const NO_REMOVAL =
  "a container without runs takes nothing; caisson limits set container NAME --none removes its limits";

/** The same for the commands below a command. */
export const OTHER_SUBCOMMANDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  tasks: {
    ls: "did you mean list?",
    rm: "did you mean delete?",
    remove: "did you mean delete?",
    run: RUN_TASK,
    invoke: RUN_TASK,
    create: "did you mean deploy?",
    put: "did you mean deploy?",
    set: "did you mean deploy?",
    update: "did you mean deploy?",
    publish: "did you mean deploy?",
    get: "did you mean show?",
    cat: "did you mean show?",
    code: "did you mean show?",
    history: "did you mean versions?",
    logs: FOLLOW,
  },
  limits: {
    get: "did you mean show?",
    list: "did you mean show?",
    delete: "did you mean reset? caisson limits set container NAME --none removes all limits",
    remove: "did you mean reset? caisson limits set container NAME --none removes all limits",
    clear: "did you mean reset? caisson limits set container NAME --none removes all limits",
  },
  containers: {
    ls: "did you mean list?",
    create: "a container needs no creation: the first run makes it",
    new: "a container needs no creation: the first run makes it",
    delete: NO_REMOVAL,
    rm: NO_REMOVAL,
    remove: NO_REMOVAL,
    stop: "did you mean suspend?",
    pause: "did you mean suspend?",
    set: SET_LIMITS,
    limit: SET_LIMITS,
    limits: SET_LIMITS,
    update: SET_LIMITS,
    get: "did you mean show?",
    label: LABEL,
    labels: LABEL,
    start: "did you mean resume? A container needs no start",
  },
  packages: {
    ls: "did you mean list?",
    allow: "did you mean add?",
    install: "did you mean add? It permits a package, and the first run builds it",
    permit: "did you mean add?",
    rm: "did you mean remove?",
    delete: "did you mean remove?",
    uninstall: "did you mean remove?",
    build: "did you mean warm?",
    show: "did you mean list?",
  },
  tokens: {
    ls: "did you mean list?",
    create: "did you mean issue?",
    new: "did you mean issue?",
    delete: "did you mean revoke?",
    rm: "did you mean revoke?",
    remove: "did you mean revoke?",
    get: "did you mean show?",
  },
  runs: {
    ls: "did you mean list?",
    get: "did you mean show?",
    stop: "did you mean cancel?",
    kill: "did you mean cancel?",
    logs: FOLLOW,
    tail: FOLLOW,
  },
};

/** Flags for values that code receives, which `caisson run` does not have. */
export const OF_CODE: RegExp = /^--?(?:env|e|secrets?|params?|set|variable)$/;
