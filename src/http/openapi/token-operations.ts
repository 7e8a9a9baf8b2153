import { z } from "zod";

import { tokenRequest } from "../../tokens/judge-request.ts";
import { secretsMember } from "../../tokens/secrets/secrets-member.ts";
import { TOKEN_PAGE } from "../api/queries.ts";
import { BODY_ERRORS, jsonContent, named, ok, type Operation, TOKEN_ERRORS } from "./operation.ts";
import { CLAIMS, EXAMPLE_JTI, NEXT } from "./schemas.ts";

const TAG = "Tokens";
const EXAMPLE_CLAIMS = {
  jti: EXAMPLE_JTI,
  admin: false,
  containers: ["acme"],
  can: ["run", "limits"],
  exp: 1_795_439_412,
  nbf: null,
  iat: 1_795_353_012,
  limits: { token: { minute: 60 } },
  timeout: "5s",
  net: null,
  packages: null,
  code: null,
  params: {},
  secretsReadable: false,
  fresh: false,
  depth: 0,
  selfRevoke: true,
  labels: { team: "billing" },
  description: null,
  task: null,
  parents: [],
};

const request = named("TokenRequest", tokenRequest);
const secrets = named("Secrets", secretsMember);
const issued = named(
  "IssuedToken",
  z.object({ token: z.string().meta({ description: "the credential itself" }), jti: z.string(), claims: CLAIMS }),
);
const description = named(
  "Token",
  z.object({
    jti: z.string(),
    issuedBy: z.string().meta({ description: "the `jti` of the token that issued it, or what issued it" }),
    issuedAt: z.iso.datetime(),
    revoked: z
      .object({ jti: z.string(), by: z.string(), at: z.iso.datetime() })
      .nullable()
      .meta({ description: "the revocation of the token, or of the nearest revoked token above it" }),
    lastUsed: z.iso.datetime().nullable(),
    runs: z.int(),
    claims: CLAIMS,
  }),
);
const page = named("TokenPage", z.object({ tokens: z.array(description), next: NEXT }));
const form = named("IntrospectionRequest", z.object({ token: z.string() }));
const introspection = named(
  "Introspection",
  z
    .union([
      z.object({ active: z.literal(false) }),
      z.looseObject({
        active: z.literal(true),
        token_type: z.literal("Bearer"),
        scope: z.string(),
        jti: z.string(),
        iss: z.string(),
        aud: z.string(),
        exp: z.int().exactOptional(),
        nbf: z.int().exactOptional(),
        iat: z.int(),
      }),
    ])
    .meta({ description: "the claims of the token, as RFC 7662 names them, and its other claims" }),
);
const revoked = named("RevokedToken", z.object({ jti: z.string(), revoked: z.literal(true) }));
const replaced = named("ReplacedSecrets", z.object({ jti: z.string(), replaced: z.literal(true) }));

const EXAMPLE_TOKEN = {
  jti: EXAMPLE_JTI,
  issuedBy: "0d0f7f7e-3a55-4c0a-9a3f-6a1b7b7d3c11",
  issuedAt: "2026-11-23T10:00:12.000Z",
  revoked: null,
  lastUsed: "2026-11-23T10:10:00.000Z",
  runs: 12,
  claims: EXAMPLE_CLAIMS,
};

export const TOKEN_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/api/tokens",
    id: "listTokens",
    tag: TAG,
    summary: "List tokens: all for administrators, the tokens below for tokens with the verb issue",
    token: "required",
    query: TOKEN_PAGE,
    answers: [ok("a page of tokens, without the credentials", page, { tokens: [EXAMPLE_TOKEN], next: null })],
    errors: [...TOKEN_ERRORS, "container_invalid"],
  },
  {
    method: "post",
    path: "/api/tokens",
    id: "issueToken",
    tag: TAG,
    summary: "Issue a token. It has at most the rights of the token of the request",
    token: "required",
    body: {
      isRequired: true,
      content: jsonContent(request, { containers: ["acme"], limits: { token: { minute: 60 } }, expiresIn: "24h" }),
    },
    answers: [
      ok(
        "the token; the service does not keep it",
        issued,
        { token: "eyJ0eXAi...", jti: EXAMPLE_JTI, claims: EXAMPLE_CLAIMS },
        201,
      ),
    ],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS, "quota_exceeded"],
  },
  {
    method: "post",
    path: "/api/tokens/introspect",
    id: "introspectToken",
    tag: TAG,
    summary: "Read the claims of a token (RFC 7662)",
    token: "required",
    body: {
      isRequired: true,
      content: [{ type: "application/x-www-form-urlencoded", schema: form, example: { token: "eyJ0eXAi..." } }],
    },
    answers: [ok("the claims, or `active: false`", introspection, { active: false })],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS],
  },
  {
    method: "get",
    path: "/api/tokens/{jti}",
    id: "getToken",
    tag: TAG,
    summary: "Read what is known of a token",
    token: "required",
    answers: [ok("the token, without the credential", description, EXAMPLE_TOKEN)],
    errors: [...TOKEN_ERRORS, "not_found"],
  },
  {
    method: "delete",
    path: "/api/tokens/{jti}",
    id: "revokeToken",
    tag: TAG,
    summary: "Revoke a token and all tokens below it",
    token: "required",
    answers: [
      { ...ok("the token is revoked", revoked, { jti: EXAMPLE_JTI, revoked: true }), headers: ["Caisson-Hint"] },
    ],
    errors: TOKEN_ERRORS,
  },
  {
    method: "put",
    path: "/api/tokens/{jti}/secrets",
    id: "replaceSecrets",
    tag: TAG,
    summary: "Replace the secrets of a token",
    token: "required",
    body: { isRequired: true, content: jsonContent(secrets, { API_KEY: "s3cret" }) },
    answers: [ok("the secrets are replaced", replaced, { jti: EXAMPLE_JTI, replaced: true })],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS, "not_found", "quota_exceeded"],
  },
];
