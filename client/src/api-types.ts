// Generated from the OpenAPI document of the service by `npm run docs`.

/** a problem document (RFC 9457) */
export type Problem = {
  /** the path of the error in the page of errors */
  type: string;
  title: string;
  status: number;
  /** what is wrong with this request */
  detail: string;
  /** stable, for programs */
  code: "container_invalid" | "request_invalid" | "credentials_ambiguous" | "code_missing" | "code_ambiguous" | "code_too_large" | "code_syntax" | "code_shape" | "module_missing" | "code_pinned" | "packages_not_found" | "packages_native" | "packages_too_large" | "packages_failed" | "task_url_invalid" | "task_url_forbidden" | "task_url_unreachable" | "task_url_status" | "task_url_too_large" | "task_url_not_code" | "task_error" | "token_missing" | "token_invalid" | "origin_forbidden" | "token_forbidden" | "packages_forbidden" | "container_suspended" | "quota_exceeded" | "not_found" | "method_not_allowed" | "precondition_failed" | "run_cancelled" | "container_limited" | "token_limited" | "container_busy" | "auth_limited" | "task_threw" | "task_timeout" | "task_stalled" | "task_blocked" | "task_memory" | "task_exited" | "result_unserializable" | "result_too_large" | "container_restarted" | "sandbox_failed" | "internal_error" | "draining" | "overloaded" | "store_unavailable" | "packages_building" | "packages_unavailable" | "node_unavailable";
  /** the id of the run */
  run?: string | undefined;
  /** what to do */
  hint?: string | undefined;
  /** seconds */
  retryAfter?: number | undefined;
  retryAfterMs?: number | undefined;
  /** all faults, or all used-up windows */
  violations?: {
    [name: string]: unknown;
  }[] | undefined;
  /** the error that the task threw, with its own members that are JSON */
  error?: {
    name: string;
    message: string;
    stack?: string | undefined;
    [name: string]: unknown;
  } | undefined;
};

export type Limits = {
  second?: number | undefined;
  minute?: number | undefined;
  hour?: number | undefined;
  day?: number | undefined;
  week?: number | undefined;
  month?: number | undefined;
};

export type LimitState = {
  /** the runs left; 0: no limit; -1: no run is left */
  second: number;
  /** the runs left; 0: no limit; -1: no run is left */
  minute: number;
  /** the runs left; 0: no limit; -1: no run is left */
  hour: number;
  /** the runs left; 0: no limit; -1: no run is left */
  day: number;
  /** the runs left; 0: no limit; -1: no run is left */
  week: number;
  /** the runs left; 0: no limit; -1: no run is left */
  month: number;
} | {
  second: {
    limit: number | null;
    /** runs that would be admitted now */
    remaining: number | null;
    /** runs that count now */
    used: number;
    /** seconds until `remaining` next grows */
    resetSeconds: number | null;
    /** where the limit was set */
    setBy: "server" | "policy" | "token" | null;
    /** the token that set it, if you may know it */
    jti?: string | undefined;
  };
  minute: {
    limit: number | null;
    /** runs that would be admitted now */
    remaining: number | null;
    /** runs that count now */
    used: number;
    /** seconds until `remaining` next grows */
    resetSeconds: number | null;
    /** where the limit was set */
    setBy: "server" | "policy" | "token" | null;
    /** the token that set it, if you may know it */
    jti?: string | undefined;
  };
  hour: {
    limit: number | null;
    /** runs that would be admitted now */
    remaining: number | null;
    /** runs that count now */
    used: number;
    /** seconds until `remaining` next grows */
    resetSeconds: number | null;
    /** where the limit was set */
    setBy: "server" | "policy" | "token" | null;
    /** the token that set it, if you may know it */
    jti?: string | undefined;
  };
  day: {
    limit: number | null;
    /** runs that would be admitted now */
    remaining: number | null;
    /** runs that count now */
    used: number;
    /** seconds until `remaining` next grows */
    resetSeconds: number | null;
    /** where the limit was set */
    setBy: "server" | "policy" | "token" | null;
    /** the token that set it, if you may know it */
    jti?: string | undefined;
  };
  week: {
    limit: number | null;
    /** runs that would be admitted now */
    remaining: number | null;
    /** runs that count now */
    used: number;
    /** seconds until `remaining` next grows */
    resetSeconds: number | null;
    /** where the limit was set */
    setBy: "server" | "policy" | "token" | null;
    /** the token that set it, if you may know it */
    jti?: string | undefined;
  };
  month: {
    limit: number | null;
    /** runs that would be admitted now */
    remaining: number | null;
    /** runs that count now */
    used: number;
    /** seconds until `remaining` next grows */
    resetSeconds: number | null;
    /** where the limit was set */
    setBy: "server" | "policy" | "token" | null;
    /** the token that set it, if you may know it */
    jti?: string | undefined;
  };
};

export type Claims = {
  jti: string;
  admin: boolean;
  containers: string[];
  can: ("run" | "limits" | "logs" | "tasks" | "issue")[];
  exp: number | null;
  nbf: number | null;
  iat: number;
  limits: {
    container?: Limits | undefined;
    token?: Limits | undefined;
  };
  timeout: string | null;
  net: false | string[] | null;
  packages: false | string[] | null;
  code: {
    url?: string | undefined;
    sha256?: string | undefined;
  } | null;
  params: {
    [name: string]: unknown;
  };
  secretsReadable: boolean;
  fresh: boolean;
  depth: number;
  selfRevoke: boolean;
  /** texts by name */
  labels: {
    [name: string]: string;
  };
  /** a text for readers */
  description: string | null;
  task: string | null;
  /** the tokens above, the nearest first */
  parents: string[];
};

export type Lock = {
  /** the SHA-256 of what decides the build */
  key: string;
  ranges: {
    [name: string]: string;
  };
  /** what may be imported: packages and their sub-paths */
  entries: string[];
  /** `name@version` of each package of `ranges` */
  roots: {
    [name: string]: string;
  };
  packages: {
    name: string;
    version: string;
    /** `sha512-` and the SHA-512 of the tarball in base64 */
    integrity: string;
    dependencies: {
      [name: string]: string;
    };
  }[];
  builder: string;
  /** the `jti` of the token whose request made the lock */
  requestedBy: string;
  at: string;
};

/** the nodes that the answer covers */
export type Nodes = {
  asked: number;
  answered: number;
};

export type RunRecord = {
  run: string;
  container: string;
  task: string | null;
  version: number | null;
  trigger: "call";
  node: string;
  token: string | null;
  status: "running" | "ok" | "cancelled" | "interrupted" | "threw" | "called_back" | "timeout" | "blocked" | "stalled" | "memory" | "exited" | "syntax" | "unserializable" | "too_large" | "refused" | "failed";
  resultType: string | null;
  response: {
    status: number;
    headers: {
      [name: string]: string;
    };
  } | null;
  dropped: {
    lines: number;
    bytes: number;
  };
  error: {
    /** a code of the page of errors */
    code: string;
    name: string | null;
    message: string;
    hint: string | null;
    at: {
      file: string;
      line: number;
      column: number;
      /** the lines of code around the position */
      frame: string | null;
    } | null;
    stack: string | null;
  } | null;
  hint: string | null;
  startedAt: string;
  ms: {
    queue: number | null;
    start: number | null;
    run: number | null;
  };
  start: "warm" | "new" | "cold" | null;
  guest: {
    cpuMs: number | null;
    memoryPeakBytes: number | null;
    concurrentRuns: number;
  };
  egress: {
    connections: number;
    bytesSent: number;
    bytesReceived: number;
    refused: number;
  };
  traceparent: string | null;
  /** the packages that the code imports, and the key of their lock */
  packages?: {
    lock: string;
    versions: {
      [name: string]: string;
    };
  } | undefined;
  limits: {
    container: {
      [name: string]: {
        limit: number;
        remaining: number;
        resetMs: number;
        setBy: "default" | "policy" | "token" | "ancestor" | "task";
      };
    };
    token: {
      [name: string]: {
        limit: number;
        remaining: number;
        resetMs: number;
        setBy: "default" | "policy" | "token" | "ancestor" | "task";
      };
    };
  };
  /** null if the caller may not see it */
  console: {
    /** milliseconds since the guest received the run */
    atMs: number;
    level: "debug" | "info" | "warn" | "error";
    text: string;
  }[] | null;
  /** the body, if the task says `record: "input"` */
  input?: string | undefined;
};

export type AnsweredRunRecord = {
  run: string;
  container: string;
  task: string | null;
  version: number | null;
  trigger: "call";
  node: string | null;
  token: string | null;
  status: "running" | "ok" | "cancelled" | "interrupted" | "threw" | "called_back" | "timeout" | "blocked" | "stalled" | "memory" | "exited" | "syntax" | "unserializable" | "too_large" | "refused" | "failed";
  resultType: string | null;
  response: {
    status: number;
    headers: {
      [name: string]: string;
    };
  } | null;
  dropped: {
    lines: number;
    bytes: number;
  } | null;
  error: {
    /** a code of the page of errors */
    code: string;
    name: string | null;
    message: string;
    hint: string | null;
    at: {
      file: string;
      line: number;
      column: number;
      /** the lines of code around the position */
      frame: string | null;
    } | null;
    stack: string | null;
  } | null;
  hint: string | null;
  startedAt: string;
  ms: {
    queue: number | null;
    start: number | null;
    run: number | null;
  };
  start: "warm" | "new" | "cold" | null;
  guest: {
    cpuMs: number | null;
    memoryPeakBytes: number | null;
    concurrentRuns: number;
  } | null;
  egress: {
    connections: number;
    bytesSent: number;
    bytesReceived: number;
    refused: number;
  } | null;
  traceparent: string | null;
  /** the packages that the code imports, and the key of their lock */
  packages?: {
    lock: string;
    versions: {
      [name: string]: string;
    };
  } | undefined;
  limits: {
    container: {
      [name: string]: {
        limit: number;
        remaining: number;
        resetMs: number;
        setBy: "default" | "policy" | "token" | "ancestor" | "task";
      };
    };
    token: {
      [name: string]: {
        limit: number;
        remaining: number;
        resetMs: number;
        setBy: "default" | "policy" | "token" | "ancestor" | "task";
      };
    };
  } | null;
  /** null if the caller may not see it */
  console: {
    /** milliseconds since the guest received the run */
    atMs: number;
    level: "debug" | "info" | "warn" | "error";
    text: string;
  }[] | null;
  /** the body, if the task says `record: "input"` */
  input?: string | undefined;
  /** the result; base64 if it is not JSON */
  result: unknown;
  resultEncoding?: "base64" | undefined;
  resultTruncated?: true | undefined;
};

export type RunPage = {
  runs: {
    run: string;
    container: string;
    task: string | null;
    version: number | null;
    trigger: "call";
    node: string;
    token: string | null;
    status: "running" | "ok" | "cancelled" | "interrupted" | "threw" | "called_back" | "timeout" | "blocked" | "stalled" | "memory" | "exited" | "syntax" | "unserializable" | "too_large" | "refused" | "failed";
    resultType: string | null;
    response: {
      status: number;
      headers: {
        [name: string]: string;
      };
    } | null;
    dropped: {
      lines: number;
      bytes: number;
    };
    error: {
      /** a code of the page of errors */
      code: string;
      name: string | null;
      message: string;
      hint: string | null;
      at: {
        file: string;
        line: number;
        column: number;
        /** the lines of code around the position */
        frame: string | null;
      } | null;
      stack: string | null;
    } | null;
    hint: string | null;
    startedAt: string;
    ms: {
      queue: number | null;
      start: number | null;
      run: number | null;
    };
    start: "warm" | "new" | "cold" | null;
    guest: {
      cpuMs: number | null;
      memoryPeakBytes: number | null;
      concurrentRuns: number;
    };
    egress: {
      connections: number;
      bytesSent: number;
      bytesReceived: number;
      refused: number;
    };
    traceparent: string | null;
    /** the packages that the code imports, and the key of their lock */
    packages?: {
      lock: string;
      versions: {
        [name: string]: string;
      };
    } | undefined;
    limits: {
      container: {
        [name: string]: {
          limit: number;
          remaining: number;
          resetMs: number;
          setBy: "default" | "policy" | "token" | "ancestor" | "task";
        };
      };
      token: {
        [name: string]: {
          limit: number;
          remaining: number;
          resetMs: number;
          setBy: "default" | "policy" | "token" | "ancestor" | "task";
        };
      };
    };
  }[];
  /** the `cursor` of the next page, or null */
  next: string | null;
  /** runs that are in no answer, because their share of the disk was used up */
  omitted: number;
  /** whether the disk keeps records */
  history: "kept" | "off" | "unavailable";
  nodes: Nodes;
  /** what was probably meant, if the page has no runs */
  hint?: string | undefined;
};

export type FailureGroups = {
  failures: {
    container: string;
    task: string | null;
    code: string;
    name: string | null;
    frame: string | null;
    message: string;
    count: number;
    firstAt: string;
    lastAt: string;
    /** the last run that failed so */
    run: string;
  }[];
  /** the cursor of the next page, whose groups have further counts of the same causes */
  next: string | null;
  /** whether the groups count all failures of the query */
  complete: boolean;
  /** whether the disk keeps records */
  history: "kept" | "off" | "unavailable";
  nodes: Nodes;
};

export type Text = string;

export type CheckRequest = {
  code: string;
  modules?: {
    [name: string]: string;
  } | undefined;
  /** the packages that the code imports, with their ranges; a check builds none */
  packages?: {
    [name: string]: string;
  } | undefined;
  /** your name for the code; `.ts` at its end: TypeScript first */
  file?: string | undefined;
};

export type CodeCheck = {
  /** false if there was no room to parse the code; it may have an error */
  checked: boolean;
  /** null if the code parses */
  error: {
    code: "code_syntax" | "code_shape" | "module_missing" | "packages_forbidden" | "packages_too_large" | "request_invalid";
    message: string;
    hint: string | null;
    at: {
      file: string;
      line: number;
      column: number;
      /** the lines of code around the position */
      frame: string | null;
    } | null;
  } | null;
};

export type PolicyRequest = {
  limits?: {
    second?: number | null | undefined;
    minute?: number | null | undefined;
    hour?: number | null | undefined;
    day?: number | null | undefined;
    week?: number | null | undefined;
    month?: number | null | undefined;
  } | null | undefined;
};

export type PolicyPatch = {
  limits?: {
    second?: number | null | undefined;
    minute?: number | null | undefined;
    hour?: number | null | undefined;
    day?: number | null | undefined;
    week?: number | null | undefined;
    month?: number | null | undefined;
  } | null | undefined;
  labels?: {
    [name: string]: string | null;
  } | null | undefined;
  description?: string | null | undefined;
};

/** what an administrator has set for a container */
export type Policy = {
  limits: Limits;
  /** texts by name */
  labels: {
    [name: string]: string;
  };
  /** a text for readers */
  description: string | null;
  /** null if the container takes runs */
  suspended: {
    at: string;
    /** the `jti` of the token that suspended it */
    by: string;
  } | null;
};

export type RestartedContainer = {
  container: string;
  restarted: true;
};

export type ContainerPage = {
  containers: {
    container: string;
    limits: Limits;
    /** the same limits as in `limits` */
    policy: {
      limits: Limits;
    };
    /** texts by name */
    labels: {
      [name: string]: string;
    };
    /** a text for readers */
    description: string | null;
    /** null if the container takes runs */
    suspended: {
      at: string;
      /** the `jti` of the token that suspended it */
      by: string;
    } | null;
    /** the runs that count now */
    used: {
      second: number;
      minute: number;
      hour: number;
      day: number;
      week: number;
      month: number;
    };
    /** the guests and places of the container */
    parties: number;
    /** the runs in flight */
    running: number;
  }[];
  /** the `cursor` of the next page, or null */
  next: string | null;
};

export type McpMessage = {
  jsonrpc: "2.0";
  id?: string | number | undefined;
  method?: string | undefined;
  [name: string]: unknown;
};

export type Packages = {
  npm: "none" | "listed" | "any";
  allow: {
    /** such as `zod`, `lodash@4` or `@acme/*` */
    package: string;
    setBy: "setting" | "administrator";
    /** the `jti` of the token that added it */
    by: string | null;
    at: string | null;
  }[];
  packages: {
    /** the key of the lock */
    lock: string;
    /** of the packages that code names */
    versions: {
      [name: string]: string;
    };
    /** the packages with their dependencies */
    count: number;
    bytes: number;
    builtAt: string;
    /** the last use, to within an hour */
    usedAt: string;
  }[];
  /** of all these sets */
  bytes: number;
  maxBytes: number;
  /** the builds of this node under way, the running one first */
  builds: {
    /** the range of each package that the code names */
    packages: {
      [name: string]: string;
    };
    state: "building" | "waiting";
    /** the `jti` of the token whose request ordered it */
    requestedBy: string;
    orderedAt: string;
    /** null while it waits */
    startedAt: string | null;
  }[];
};

export type PermittedPackages = {
  npm: "none" | "listed" | "any";
  allow: {
    /** such as `zod`, `lodash@4` or `@acme/*` */
    package: string;
    setBy: "setting" | "administrator";
    /** the `jti` of the token that added it */
    by: string | null;
    at: string | null;
  }[];
};

export type BuiltPackages = {
  lock: Lock;
  bytes: number;
};

export type WarmRequest = {
  packages: {
    [name: string]: string;
  };
  entries?: string[] | undefined;
};

export type RemovedPackages = {
  lock: string;
  removed: true;
};

export type Building = {
  build: {
    state: "building";
  };
};

export type Health = {
  /** `ok`, or why the service takes no runs */
  status: string;
  isolation: string;
  /** why no stronger level of isolation is in use */
  insteadOf?: string | undefined;
  failedUnheard?: number | undefined;
  egressRefused?: {
    [name: string]: number;
  } | undefined;
  /** what was lost of the records */
  records?: {
    [name: string]: {
      [name: string]: unknown;
    };
  } | undefined;
  version: string;
};

export type KeySet = {
  keys: {
    kty: string;
    kid: string;
    [name: string]: unknown;
  }[];
};

export type Html = string;

export type Markdown = string;

export type Metrics = string;

export type OpenApi = {
  openapi: string;
  [name: string]: unknown;
};

export type Index = {
  service: string;
  version: string;
  openapi: string;
  errors: string;
  health: string;
  llms: string;
  documents: string;
};

export type Lines = string;

export type CancelledRun = {
  run: string;
  status: "cancelled";
};

export type Usage = {
  usage: {
    container: string;
    task?: string | null | undefined;
    token?: string | null | undefined;
    /** the start of the step */
    from: string;
    /** runs by status */
    runs: {
      [name: string]: number;
    };
    /** refused requests by error code */
    refused: {
      [name: string]: number;
    };
    cpuMs: number;
    runMs: number;
    egressBytes: number;
    /** ended runs by duration: the name is the upper bound in milliseconds */
    durations: {
      [name: string]: number;
    };
  }[];
  /** whether entries were added up as `(other)`, for want of places */
  truncated: boolean;
  nodes: Nodes;
};

export type AuditPage = {
  entries: {
    at: string;
    action: string;
    /** the `jti` of the token that changed it */
    by: string | null;
    /** the address of the client */
    client: string | null;
    details: {
      [name: string]: unknown;
    };
  }[];
  /** the `cursor` of the next page, or null */
  next: string | null;
  nodes: Nodes;
};

export type Envelope = {
  code: string;
  data?: unknown;
  modules?: {
    [name: string]: string;
  } | undefined;
  packages?: {
    [name: string]: string;
  } | undefined;
};

/** what the task returns */
export type Anything = unknown;

export type RecordedEnvelope = {
  code: string;
  data?: unknown;
  modules?: {
    [name: string]: string;
  } | undefined;
  packages?: {
    [name: string]: string;
  } | undefined;
  timeout?: string | undefined;
  file?: string | undefined;
  maxResult?: string | undefined;
  /** must be a query such as "a=1&b=2" of at most 16384 characters, or an object of strings by name */
  query?: string | {
    [name: string]: unknown;
  } | undefined;
};

export type System = {
  version: string;
  startedAt: string;
  /** the node that answers: its name in records, and the first part of the ids of its runs */
  node: {
    name: string;
    process: string;
  };
  isolation: {
    level: string;
    mechanisms: string;
    /** how memory, threads and processor time are limited */
    resources: string;
    /** why no stronger level is in use */
    insteadOf: string | null;
  };
  /** what to know or to repair, as sentences, the worst first */
  warnings: string[];
  /** what `caisson doctor` reports, from the start of this node; Redis as it is now */
  checks: {
    layer: string;
    state: "held" | "weak" | "open";
    /** what the start observed */
    proof: string;
    /** what to install or set */
    remedy: string | null;
  }[];
  /** this node, and the nodes on the same Redis in the last ten minutes */
  nodes: {
    name: string;
    process: string;
    url: string | null;
    state: "self" | "alive" | "silent";
    /** null, as the further members, if the node did not answer */
    version: string | null;
    startedAt: string | null;
    /** the isolation level */
    isolation: string | null;
    checks: {
      layer: string;
      state: "held" | "weak" | "open";
      /** what the start observed */
      proof: string;
      /** what to install or set */
      remedy: string | null;
    }[] | null;
    /** the settings that have another value than on the node that answers */
    differences: {
      name: string;
      flag: string;
      value: string | null;
      /** the value on the node that answers */
      here: string | null;
      setBy: "default" | "flag" | "variable" | "file";
    }[] | null;
  }[];
  /** nodes beyond --nodes-asked, which are not listed */
  furtherNodes: number;
  /** the keys that this node accepts, the newest first */
  keys: {
    kid: string;
    /** `coming` keys sign later; `retired` keys only verify */
    state: "coming" | "signing" | "retired";
    retiredAt: string | null;
  }[];
  /** the most guests, connections and others at once */
  capacity: {
    [name: string]: number;
  };
  /** all settings of this node, in the order of the settings page */
  settings: {
    name: string;
    group: string;
    flag: string;
    variable: string;
    /** as the variable has it, without secrets; null if there is none */
    value: string | null;
    default: string | null;
    setBy: "default" | "flag" | "variable" | "file";
    help: string;
  }[];
};

export type TaskRequest = {
  /** the code, as text */
  code?: string | undefined;
  /** the modules that the code imports, by relative specifier; null removes them */
  modules?: {
    [name: string]: string;
  } | null | undefined;
  /** whether the code is read as TypeScript before it is read as JavaScript */
  typescript?: boolean | undefined;
  /** the URL from which each run fetches the code */
  url?: string | undefined;
  /** the SHA-256 that the code at the URL must have */
  sha256?: string | undefined;
  /** whether anyone may run the task */
  public?: boolean | undefined;
  /** what a caller of a public task receives if it fails */
  errors?: "shown" | "hidden" | undefined;
  /** `input`: the records of its runs keep the beginning of the body */
  record?: "input" | null | undefined;
  /** whether clients of the MCP endpoint see the task as a tool, with its description and its input */
  tool?: boolean | undefined;
  /** the JSON Schema of what the tool takes; null: any object */
  input?: {
    [name: string]: unknown;
  } | null | undefined;
  /** the packages that the code imports, in addition to those in its specifiers: ranges by name, such as `{"zod": "^4"}`; null removes them */
  packages?: {
    [name: string]: string;
  } | null | undefined;
  /** packages of the task whose versions move to the newest in their range; all others stay */
  update?: string[] | undefined;
  /** true: each run gets an unused guest */
  fresh?: boolean | undefined;
  /** the hosts that code may connect to, if the operator allows them too; false: none */
  net?: false | string[] | null | undefined;
  /** limits of the token, and of the containers for this token, in runs by window */
  limits?: {
    container?: {
      second?: number | undefined;
      minute?: number | undefined;
      hour?: number | undefined;
      day?: number | undefined;
      week?: number | undefined;
      month?: number | undefined;
    } | undefined;
    token?: {
      second?: number | undefined;
      minute?: number | undefined;
      hour?: number | undefined;
      day?: number | undefined;
      week?: number | undefined;
      month?: number | undefined;
    } | undefined;
  } | null | undefined;
  /** the longest that a run may take, such as `500ms` or `5s` */
  timeout?: string | null | undefined;
  /** texts by name, for lists and for readers; they change no right */
  labels?: {
    [name: string]: string;
  } | null | undefined;
  /** a text for readers */
  description?: string | null | undefined;
  /** values that the code receives as `context.params` */
  params?: {
    [name: string]: unknown;
  } | undefined;
  /** values that the code receives as `context.secrets`; no answer contains them */
  secrets?: Secrets | undefined;
  /** the end of the token, in Unix seconds; null: no end */
  exp?: number | null | undefined;
  /** the life of the token, such as `12h`; by default a day */
  expiresIn?: string | undefined;
};

export type RollBackRequest = {
  version: number;
  secrets?: Secrets | undefined;
};

export type Task = {
  container: string;
  name: string;
  version: number;
  etag: string;
  /** the token of the task, which is no credential */
  jti: string;
  url: string | null;
  sha256: string | null;
  public: boolean;
  errors: "shown" | "hidden";
  record: "input" | null;
  tool: boolean;
  input: {
    [name: string]: unknown;
  } | null;
  packages: {
    [name: string]: string;
  } | null;
  /** texts by name */
  labels: {
    [name: string]: string;
  };
  /** a text for readers */
  description: string | null;
  params: {
    [name: string]: unknown;
  };
  limits: {
    container?: Limits | undefined;
    token?: Limits | undefined;
  };
  timeout: string | null;
  net: false | string[] | null;
  fresh: boolean;
  exp: number | null;
  by: string;
  changedAt: string;
  expired?: boolean | undefined;
  revoked?: boolean | undefined;
  code?: string | undefined;
  modules?: {
    [name: string]: string;
  } | null | undefined;
  typescript?: boolean | undefined;
  lock?: Lock | null | undefined;
  /** only in the answer to a read: what the code receives as `context.secrets`, without the values; null if unknown */
  secretNames?: string[] | null | undefined;
};

export type TaskPage = {
  tasks: {
    container: string;
    name: string;
    version: number;
    etag: string;
    /** the token of the task, which is no credential */
    jti: string;
    url: string | null;
    sha256: string | null;
    public: boolean;
    errors: "shown" | "hidden";
    record: "input" | null;
    tool: boolean;
    input: {
      [name: string]: unknown;
    } | null;
    packages: {
      [name: string]: string;
    } | null;
    /** texts by name */
    labels: {
      [name: string]: string;
    };
    /** a text for readers */
    description: string | null;
    params: {
      [name: string]: unknown;
    };
    limits: {
      container?: Limits | undefined;
      token?: Limits | undefined;
    };
    timeout: string | null;
    net: false | string[] | null;
    fresh: boolean;
    exp: number | null;
    by: string;
    changedAt: string;
    expired?: boolean | undefined;
    revoked?: boolean | undefined;
  }[];
  /** the `cursor` of the next page, or null */
  next: string | null;
};

export type TaskVersions = {
  versions: {
    container: string;
    name: string;
    version: number;
    etag: string;
    /** the token of the task, which is no credential */
    jti: string;
    url: string | null;
    sha256: string | null;
    public: boolean;
    errors: "shown" | "hidden";
    record: "input" | null;
    tool: boolean;
    input: {
      [name: string]: unknown;
    } | null;
    packages: {
      [name: string]: string;
    } | null;
    /** texts by name */
    labels: {
      [name: string]: string;
    };
    /** a text for readers */
    description: string | null;
    params: {
      [name: string]: unknown;
    };
    limits: {
      container?: Limits | undefined;
      token?: Limits | undefined;
    };
    timeout: string | null;
    net: false | string[] | null;
    fresh: boolean;
    exp: number | null;
    by: string;
    changedAt: string;
    lock: Lock | null;
  }[];
};

export type StoredTask = {
  container: string;
  name: string;
  version: number;
  etag: string;
  /** the token of the task, which is no credential */
  jti: string;
  url: string | null;
  sha256: string | null;
  public: boolean;
  errors: "shown" | "hidden";
  record: "input" | null;
  tool: boolean;
  input: {
    [name: string]: unknown;
  } | null;
  packages: {
    [name: string]: string;
  } | null;
  /** texts by name */
  labels: {
    [name: string]: string;
  };
  /** a text for readers */
  description: string | null;
  params: {
    [name: string]: unknown;
  };
  limits: {
    container?: Limits | undefined;
    token?: Limits | undefined;
  };
  timeout: string | null;
  net: false | string[] | null;
  fresh: boolean;
  exp: number | null;
  by: string;
  changedAt: string;
  code?: string | undefined;
  modules?: {
    [name: string]: string;
  } | null | undefined;
  typescript?: boolean | undefined;
  lock: Lock | null;
};

export type DeletedTask = {
  container: string;
  name: string;
  deleted: true;
};

export type DryRun = {
  record: AnsweredRunRecord;
};

export type BuildingTask = {
  container: string;
  name: string;
  build: {
    state: "building";
  };
};

export type TaskOrDryRun = Task | DryRun;

export type TokenRequest = {
  /** whether the token may do everything in all containers, for as long as it lives */
  admin?: true | undefined;
  /** the containers: exact names, or the beginning of names and a star, such as `acme-*` */
  containers?: string[] | undefined;
  /** the verbs of the token; by default run and limits */
  can?: ("run" | "limits" | "logs" | "tasks" | "issue")[] | undefined;
  /** the end of the token, in Unix seconds; null: no end */
  exp?: number | null | undefined;
  /** the life of the token, such as `12h`; by default a day */
  expiresIn?: string | undefined;
  /** the beginning of the token, in Unix seconds */
  nbf?: number | undefined;
  /** limits of the token, and of the containers for this token, in runs by window */
  limits?: {
    container?: {
      second?: number | undefined;
      minute?: number | undefined;
      hour?: number | undefined;
      day?: number | undefined;
      week?: number | undefined;
      month?: number | undefined;
    } | undefined;
    token?: {
      second?: number | undefined;
      minute?: number | undefined;
      hour?: number | undefined;
      day?: number | undefined;
      week?: number | undefined;
      month?: number | undefined;
    } | undefined;
  } | undefined;
  /** the longest that a run may take, such as `500ms` or `5s` */
  timeout?: string | undefined;
  /** the hosts that code may connect to, if the operator allows them too; false: none */
  net?: false | string[] | undefined;
  /** the packages that code may import, if the operator permits them too, such as `lodash@4` or `@acme/*`; false: none */
  packages?: false | string[] | undefined;
  /** the only code that the token may run: its URL, its SHA-256, or both */
  code?: {
    url?: string | undefined;
    sha256?: string | undefined;
  } | undefined;
  /** values that the code receives as `context.params` */
  params?: {
    [name: string]: unknown;
  } | undefined;
  /** values that the code receives as `context.secrets`; no answer contains them */
  secrets?: Secrets | undefined;
  /** true: also code that a caller chooses may read the secrets */
  secretsReadable?: true | undefined;
  /** true: each run gets an unused guest */
  fresh?: true | undefined;
  /** how many generations of tokens may be issued below the token */
  depth?: number | undefined;
  /** whether the token may revoke itself; by default true */
  selfRevoke?: boolean | undefined;
  /** texts by name, for lists and for readers; they change no right */
  labels?: {
    [name: string]: string;
  } | undefined;
  /** a text for readers */
  description?: string | undefined;
};

export type Secrets = {
  [name: string]: string;
};

export type IssuedToken = {
  /** the credential itself */
  token: string;
  jti: string;
  claims: Claims;
};

export type Token = {
  jti: string;
  /** the `jti` of the token that issued it, or what issued it */
  issuedBy: string;
  issuedAt: string;
  /** the revocation of the token, or of the nearest revoked token above it */
  revoked: {
    jti: string;
    by: string;
    at: string;
  } | null;
  lastUsed: string | null;
  runs: number;
  claims: Claims;
};

export type TokenPage = {
  tokens: Token[];
  /** the `cursor` of the next page, or null */
  next: string | null;
};

export type IntrospectionRequest = {
  token: string;
};

/** the claims of the token, as RFC 7662 names them, and its other claims */
export type Introspection = {
  active: false;
} | {
  active: true;
  token_type: "Bearer";
  scope: string;
  jti: string;
  iss: string;
  aud: string;
  exp?: number | undefined;
  nbf?: number | undefined;
  iat: number;
  [name: string]: unknown;
};

export type RevokedToken = {
  jti: string;
  revoked: true;
};

export type ReplacedSecrets = {
  jti: string;
  replaced: true;
};

/** The types of each operation, by its method and path. */
export interface Routes {
  /** Run the code of a URL, and answer with its result */
  "GET /api/run/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** the URL of the code, if the body is not the code */
      task_url?: string | undefined;
    };
    body: undefined;
    answer: string;
  };
  /** Run code, and answer with its result */
  "PUT /api/run/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** the URL of the code, if the body is not the code */
      task_url?: string | undefined;
    };
    body: Envelope;
    answer: string;
  };
  /** Run code, and answer with its result */
  "POST /api/run/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** the URL of the code, if the body is not the code */
      task_url?: string | undefined;
    };
    body: Envelope;
    answer: string;
  };
  /** Run the code of a URL, and answer with its result */
  "DELETE /api/run/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** the URL of the code, if the body is not the code */
      task_url?: string | undefined;
    };
    body: undefined;
    answer: string;
  };
  /** Run code, and answer with its result */
  "PATCH /api/run/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** the URL of the code, if the body is not the code */
      task_url?: string | undefined;
    };
    body: Envelope;
    answer: string;
  };
  /** Run a named task */
  "GET /api/run/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: undefined;
    answer: string;
  };
  /** Run a named task */
  "PUT /api/run/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** Run a named task */
  "POST /api/run/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** Run a named task */
  "DELETE /api/run/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** Run a named task */
  "PATCH /api/run/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** Run a named task, which receives the rest of the path (any number of segments) */
  "GET /api/run/{container}/{task}/{path}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
      /** the rest of the path */
      path: string;
    };
    query: {};
    body: undefined;
    answer: string;
  };
  /** Run a named task, which receives the rest of the path (any number of segments) */
  "PUT /api/run/{container}/{task}/{path}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
      /** the rest of the path */
      path: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** Run a named task, which receives the rest of the path (any number of segments) */
  "POST /api/run/{container}/{task}/{path}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
      /** the rest of the path */
      path: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** Run a named task, which receives the rest of the path (any number of segments) */
  "DELETE /api/run/{container}/{task}/{path}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
      /** the rest of the path */
      path: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** Run a named task, which receives the rest of the path (any number of segments) */
  "PATCH /api/run/{container}/{task}/{path}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
      /** the rest of the path */
      path: string;
    };
    query: {};
    body: string;
    answer: string;
  };
  /** List the runs of a container, the newest first */
  "GET /api/runs/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** the member `next` of the previous page */
      cursor?: string | undefined;
      /** the most entries of the page */
      limit?: number | undefined;
      /** only of this named task */
      task?: string | undefined;
      /** only with these statuses, with commas between: running, ok, cancelled, interrupted, threw, called_back, timeout, blocked, stalled, memory, exited, syntax, unserializable, too_large, refused, failed */
      status?: string | undefined;
      /** only runs that began at this time or later; a time, or a duration before now */
      since?: string | undefined;
      /** only runs that began before this time; a time, or a duration before now */
      until?: string | undefined;
      /** only runs whose console or error contains this text */
      q?: string | undefined;
    };
    body: undefined;
    answer: RunPage;
  };
  /** Run code or a named task, and answer with the record of the run */
  "POST /api/runs/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** a duration from `10ms`; the lowest timeout of the request, the token, the task and the operator applies */
      timeout?: string | undefined;
      /** your name for the text, in positions and stacks */
      file?: string | undefined;
      /** how much of the result the record shows, such as `1MiB`, or `max` */
      maxResult?: string | undefined;
      /** the name of a task to run; the body is then its data */
      task?: string | undefined;
    };
    body: RecordedEnvelope;
    answer: AnsweredRunRecord;
  };
  /** Parse code without running it, with the verb run or tasks */
  "POST /api/check/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: CheckRequest;
    answer: CodeCheck;
  };
  /** List the tasks of a container by name */
  "GET /api/tasks/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** the member `next` of the previous page */
      cursor?: string | undefined;
      /** the most entries of the page */
      limit?: number | undefined;
      /** only with this label, as `name` or `name=value`; can be repeated: all must hold */
      label?: string[] | undefined;
    };
    body: undefined;
    answer: TaskPage;
  };
  /** Read a task with its code, and the names of its secrets */
  "GET /api/tasks/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: undefined;
    answer: Task;
  };
  /** Create or change a task. A member that is left out stays as it was */
  "PUT /api/tasks/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {
      /** `true`: runs the task once, publishes nothing, and answers with the record */
      dryRun?: boolean | undefined;
      /** `public` of the task, as text or as JSON, if the body is its source */
      public?: string | undefined;
      /** `errors` of the task, as text or as JSON, if the body is its source */
      errors?: string | undefined;
      /** `record` of the task, as text or as JSON, if the body is its source */
      record?: string | undefined;
      /** `fresh` of the task, as text or as JSON, if the body is its source */
      fresh?: string | undefined;
      /** `net` of the task, as text or as JSON, if the body is its source */
      net?: string | undefined;
      /** `limits` of the task, as text or as JSON, if the body is its source */
      limits?: string | undefined;
      /** `timeout` of the task, as text or as JSON, if the body is its source */
      timeout?: string | undefined;
      /** `params` of the task, as text or as JSON, if the body is its source */
      params?: string | undefined;
      /** `exp` of the task, as text or as JSON, if the body is its source */
      exp?: string | undefined;
      /** `expiresIn` of the task, as text or as JSON, if the body is its source */
      expiresIn?: string | undefined;
      /** `labels` of the task, as text or as JSON, if the body is its source */
      labels?: string | undefined;
      /** `description` of the task, as text or as JSON, if the body is its source */
      description?: string | undefined;
      /** `tool` of the task, as text or as JSON, if the body is its source */
      tool?: string | undefined;
      /** `input` of the task, as text or as JSON, if the body is its source */
      input?: string | undefined;
      /** `packages` of the task, as text or as JSON, if the body is its source */
      packages?: string | undefined;
      /** `update` of the task, as text or as JSON, if the body is its source */
      update?: string | undefined;
    };
    body: TaskRequest;
    answer: TaskOrDryRun | BuildingTask;
  };
  /** Delete a task with its token, its versions and its secrets */
  "DELETE /api/tasks/{container}/{task}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: undefined;
    answer: DeletedTask;
  };
  /** List the last ten versions of a task, the newest first */
  "GET /api/tasks/{container}/{task}/versions": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: undefined;
    answer: TaskVersions;
  };
  /** Read a version of a task with its code, without its secrets */
  "GET /api/tasks/{container}/{task}/versions/{version}": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
      /** the number of a version of a task */
      version: string;
    };
    query: {};
    body: undefined;
    answer: StoredTask;
  };
  /** Create a new version with the content of a kept one */
  "POST /api/tasks/{container}/{task}/rollback": {
    path: {
      /** the name of a container */
      container: string;
      /** the name of a task */
      task: string;
    };
    query: {};
    body: RollBackRequest;
    answer: Task;
  };
  /** Read which packages code may import, which sets are built, and which builds are under way */
  "GET /api/packages": {
    path: {};
    query: {};
    body: undefined;
    answer: Packages;
  };
  /** Build packages before the first run that imports them */
  "POST /api/packages/warm": {
    path: {};
    query: {};
    body: WarmRequest;
    answer: BuiltPackages | Building;
  };
  /** Read the lock of a set that is built */
  "GET /api/packages/locks/{key}": {
    path: {
      /** the key of a lock */
      key: string;
    };
    query: {};
    body: undefined;
    answer: BuiltPackages;
  };
  /** Remove a set that is built, as an administrator. A run that needs it builds it again */
  "DELETE /api/packages/locks/{key}": {
    path: {
      /** the key of a lock */
      key: string;
    };
    query: {};
    body: undefined;
    answer: RemovedPackages;
  };
  /** Add a package to the list of the operator, as an administrator */
  "PUT /api/packages/allow/{package}": {
    path: {
      /** a package such as `zod`, `lodash@4` or `@acme/*` */
      package: string;
    };
    query: {};
    body: undefined;
    answer: PermittedPackages;
  };
  /** Remove a package from the list of the operator, as an administrator */
  "DELETE /api/packages/allow/{package}": {
    path: {
      /** a package such as `zod`, `lodash@4` or `@acme/*` */
      package: string;
    };
    query: {};
    body: undefined;
    answer: PermittedPackages;
  };
  /** List the runs of all containers of the token, the newest first */
  "GET /api/runs": {
    path: {};
    query: {
      /** the member `next` of the previous page */
      cursor?: string | undefined;
      /** the most entries of the page */
      limit?: number | undefined;
      /** only of this named task */
      task?: string | undefined;
      /** only with these statuses, with commas between: running, ok, cancelled, interrupted, threw, called_back, timeout, blocked, stalled, memory, exited, syntax, unserializable, too_large, refused, failed */
      status?: string | undefined;
      /** only runs that began at this time or later; a time, or a duration before now */
      since?: string | undefined;
      /** only runs that began before this time; a time, or a duration before now */
      until?: string | undefined;
      /** only runs whose console or error contains this text */
      q?: string | undefined;
      /** only of this container */
      container?: string | undefined;
    };
    body: undefined;
    answer: RunPage;
  };
  /** Follow the console lines and the ends of runs of all containers of the token, as server-sent events */
  "GET /api/events": {
    path: {};
    query: {};
    body: undefined;
    answer: string;
  };
  /** Follow the console lines and the ends of runs of a container, as server-sent events */
  "GET /api/runs/{container}/events": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: undefined;
    answer: string;
  };
  /** Read the record of a run */
  "GET /api/runs/{container}/{run}": {
    path: {
      /** the name of a container */
      container: string;
      /** the id of a run, which `Caisson-Run` has */
      run: string;
    };
    query: {};
    body: undefined;
    answer: RunRecord;
  };
  /** Cancel a run of the token, or of a token below it */
  "DELETE /api/runs/{container}/{run}": {
    path: {
      /** the name of a container */
      container: string;
      /** the id of a run, which `Caisson-Run` has */
      run: string;
    };
    query: {};
    body: undefined;
    answer: CancelledRun;
  };
  /** Read the console of a run */
  "GET /api/runs/{container}/{run}/console": {
    path: {
      /** the name of a container */
      container: string;
      /** the id of a run, which `Caisson-Run` has */
      run: string;
    };
    query: {};
    body: undefined;
    answer: string;
  };
  /** Group the failures of the containers of the token by their cause */
  "GET /api/failures": {
    path: {};
    query: {
      /** only of this container */
      container?: string | undefined;
      /** only of this named task */
      task?: string | undefined;
      /** only runs that began at this time or later; a time, or a duration before now */
      since?: string | undefined;
      /** only runs that began before this time; a time, or a duration before now */
      until?: string | undefined;
      /** the member `next` of the previous page */
      cursor?: string | undefined;
    };
    body: undefined;
    answer: FailureGroups;
  };
  /** Count runs, processor time and bytes over time */
  "GET /api/usage": {
    path: {};
    query: {
      /** what each row counts */
      by?: "container" | "task" | "token" | undefined;
      /** the time that each row counts, in UTC */
      step?: "hour" | "day" | undefined;
      /** the beginning; by default a day before `to` */
      from?: string | undefined;
      /** the end; by default now */
      to?: string | undefined;
    };
    body: undefined;
    answer: Usage;
  };
  /** List the changes, the newest first, as an administrator */
  "GET /api/audit": {
    path: {};
    query: {
      /** the member `next` of the previous page */
      cursor?: string | undefined;
      /** the most entries of the page */
      limit?: number | undefined;
      /** only entries of this time or later */
      since?: string | undefined;
      /** only entries before this time */
      until?: string | undefined;
      /** only this action */
      action?: "token issued" | "token revoked" | "secrets replaced" | "limits reset" | "policy set" | "policy changed" | "policy removed" | "container suspended" | "container resumed" | "container restarted" | "task made" | "task changed" | "task rolled back" | "task deleted" | "run cancelled" | "package allowed" | "package disallowed" | "packages removed" | "signing keys changed" | undefined;
      /** only changes by the token with this `jti` */
      by?: string | undefined;
    };
    body: undefined;
    answer: AuditPage;
  };
  /** List tokens: all for administrators, the tokens below for tokens with the verb issue */
  "GET /api/tokens": {
    path: {};
    query: {
      /** the member `next` of the previous page */
      cursor?: string | undefined;
      /** the most entries of the page */
      limit?: number | undefined;
      /** only of this container */
      container?: string | undefined;
      /** only with this label, as `name` or `name=value`; can be repeated: all must hold */
      label?: string[] | undefined;
    };
    body: undefined;
    answer: TokenPage;
  };
  /** Issue a token. It has at most the rights of the token of the request */
  "POST /api/tokens": {
    path: {};
    query: {};
    body: TokenRequest;
    answer: IssuedToken;
  };
  /** Read the claims of a token (RFC 7662) */
  "POST /api/tokens/introspect": {
    path: {};
    query: {};
    body: string;
    answer: Introspection;
  };
  /** Read what is known of a token */
  "GET /api/tokens/{jti}": {
    path: {
      /** the `jti` of a token */
      jti: string;
    };
    query: {};
    body: undefined;
    answer: Token;
  };
  /** Revoke a token and all tokens below it */
  "DELETE /api/tokens/{jti}": {
    path: {
      /** the `jti` of a token */
      jti: string;
    };
    query: {};
    body: undefined;
    answer: RevokedToken;
  };
  /** Replace the secrets of a token */
  "PUT /api/tokens/{jti}/secrets": {
    path: {
      /** the `jti` of a token */
      jti: string;
    };
    query: {};
    body: Secrets;
    answer: ReplacedSecrets;
  };
  /** List the containers of the token that have a policy, counted runs or a guest */
  "GET /api/containers": {
    path: {};
    query: {
      /** the member `next` of the previous page */
      cursor?: string | undefined;
      /** the most entries of the page */
      limit?: number | undefined;
      /** only with this label, as `name` or `name=value`; can be repeated: all must hold */
      label?: string[] | undefined;
    };
    body: undefined;
    answer: ContainerPage;
  };
  /** Read the policy of a container, as an administrator */
  "GET /api/containers/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: undefined;
    answer: Policy;
  };
  /** Replace the limits of a container, as an administrator */
  "PUT /api/containers/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: PolicyRequest;
    answer: Policy;
  };
  /** Remove limits, labels and description of a container, as an administrator. A suspension stays */
  "DELETE /api/containers/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: undefined;
    answer: Policy;
  };
  /** Change limits, labels and description of a container by a merge patch (RFC 7396), as an administrator */
  "PATCH /api/containers/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: PolicyPatch;
    answer: Policy;
  };
  /** Answer runs in a container with 403 from now on, as an administrator */
  "POST /api/containers/{container}/suspend": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** `true`: ends the runs in flight; otherwise they finish */
      now?: boolean | undefined;
    };
    body: undefined;
    answer: Policy;
  };
  /** Let a suspended container take runs again, as an administrator */
  "POST /api/containers/{container}/resume": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: undefined;
    answer: Policy;
  };
  /** Replace the guests of a container, as an administrator or with the verb tasks */
  "POST /api/containers/{container}/restart": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** `true`: ends the runs in flight; otherwise they finish */
      now?: boolean | undefined;
    };
    body: undefined;
    answer: RestartedContainer;
  };
  /** Read what is left of the limits of a container */
  "GET /api/limits/container/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** `true`: an object for each window, with limit, remaining, used and resetSeconds */
      detail?: boolean | undefined;
    };
    body: undefined;
    answer: LimitState;
  };
  /** Reset the counts of a container, as an administrator */
  "DELETE /api/limits/container/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {
      /** `true`: an object for each window, with limit, remaining, used and resetSeconds */
      detail?: boolean | undefined;
    };
    body: undefined;
    answer: LimitState;
  };
  /** Read what is left of the limits of a token */
  "GET /api/limits/token/{jti}": {
    path: {
      /** the `jti` of a token */
      jti: string;
    };
    query: {
      /** `true`: an object for each window, with limit, remaining, used and resetSeconds */
      detail?: boolean | undefined;
    };
    body: undefined;
    answer: LimitState;
  };
  /** Reset the counts of a token, as an administrator */
  "DELETE /api/limits/token/{jti}": {
    path: {
      /** the `jti` of a token */
      jti: string;
    };
    query: {
      /** `true`: an object for each window, with limit, remaining, used and resetSeconds */
      detail?: boolean | undefined;
    };
    body: undefined;
    answer: LimitState;
  };
  /** Read checks, warnings, nodes, keys and settings of the service, as an administrator */
  "GET /api/system": {
    path: {};
    query: {};
    body: undefined;
    answer: System;
  };
  /** Use the tools of a container */
  "POST /mcp/{container}": {
    path: {
      /** the name of a container */
      container: string;
    };
    query: {};
    body: McpMessage;
    answer: McpMessage | undefined;
  };
  /** Use the tools of the only container of the token, or name one in each call */
  "POST /mcp": {
    path: {};
    query: {};
    body: McpMessage;
    answer: McpMessage | undefined;
  };
  /** Name the paths of this document and of the page of errors */
  "GET /": {
    path: {};
    query: {};
    body: undefined;
    answer: Index;
  };
  /** Read a file of the web console */
  "GET /console/{file}": {
    path: {
      /** the name of a file */
      file: string;
    };
    query: {};
    body: undefined;
    answer: string;
  };
  /** Read this document */
  "GET /openapi.json": {
    path: {};
    query: {};
    body: undefined;
    answer: OpenApi;
  };
  /** Read how a language model uses this service */
  "GET /llms.txt": {
    path: {};
    query: {};
    body: undefined;
    answer: string;
  };
  /** Read whether the service takes runs */
  "GET /healthz": {
    path: {};
    query: {};
    body: undefined;
    answer: Health;
  };
  /** Read whether the service takes runs, as /healthz */
  "GET /readyz": {
    path: {};
    query: {};
    body: undefined;
    answer: Health;
  };
  /** Read the metrics of this node */
  "GET /metrics": {
    path: {};
    query: {};
    body: undefined;
    answer: string;
  };
  /** Read the public keys of the tokens (RFC 7517) */
  "GET /.well-known/jwks.json": {
    path: {};
    query: {};
    body: undefined;
    answer: KeySet;
  };
  /** Read the page of all errors */
  "GET /errors": {
    path: {};
    query: {};
    body: undefined;
    answer: string;
  };
}
