import packageJson from "../../package.json" with { type: "json" };

export const VERSION: string = packageJson.version;

/** The headers of every answer of the service, as name, value, name, value. */
export const VERSION_HEADERS: readonly string[] = ["Caisson-Version", VERSION];

/** Keeps browsers from guessing the type of an answer, and from telling other sites its URL. */
export const SAFETY_HEADERS: readonly string[] = [
  "X-Content-Type-Options",
  "nosniff",
  "Referrer-Policy",
  "no-referrer",
];

const EXPOSED = [
  "Retry-After",
  "RateLimit",
  "RateLimit-Policy",
  "Caisson-Run",
  "Caisson-Fault",
  "Caisson-Hint",
  "Caisson-Nodes",
  "Caisson-Truncated",
  "Server-Timing",
  "Caisson-Version",
  "ETag",
  "Location",
  "Preference-Applied",
].join(", ");

const ALLOWED = [
  "Authorization",
  "Content-Type",
  "Prefer",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  "Last-Event-ID",
  "traceparent",
].join(", ");

/** The CORS headers (Fetch standard). All origins are allowed, because a token is never sent as a cookie. */
export const CORS_HEADERS: readonly string[] = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Expose-Headers",
  EXPOSED,
];

/** Returns the headers of the answer to a preflight request for a path with these methods. */
export function preflightHeaders(methods: string): string[] {
  return [...VERSION_HEADERS, ...CORS_HEADERS, ...optionsHeaders(methods)];
}

/** Returns the headers that only an answer to OPTIONS has. */
export function optionsHeaders(methods: string): string[] {
  return [
    ...["Access-Control-Allow-Methods", methods],
    ...["Access-Control-Allow-Headers", ALLOWED],
    ...["Access-Control-Max-Age", "86400"],
    ...["Allow", `${methods}, OPTIONS`],
  ];
}
