import { z } from "zod";

import { policyPatch, policyRequest } from "../../policies/policy-request.ts";
import { DETAIL, LABELLED_PAGE, NOW } from "../api/queries.ts";
import { BODY_ERRORS, jsonContent, named, ok, type Operation, type SuccessAnswer, TOKEN_ERRORS } from "./operation.ts";
import { DESCRIPTION, EXAMPLE_JTI, EXAMPLE_LIMITS, LABELS, LIMIT_STATE, LIMITS, NEXT, USED } from "./schemas.ts";

const CONTAINERS = "Containers";
const LIMITS_TAG = "Limits";
const EXAMPLE_REQUEST = { limits: { minute: 600 } };
const EXAMPLE_DESCRIBED = { labels: { team: "billing" }, description: null, suspended: null };
const EXAMPLE_POLICY = { ...EXAMPLE_REQUEST, ...EXAMPLE_DESCRIBED };

const request = named("PolicyRequest", policyRequest);
const patch = named("PolicyPatch", policyPatch);
const described = {
  labels: LABELS,
  description: DESCRIPTION,
  suspended: z
    .object({ at: z.iso.datetime(), by: z.string().meta({ description: "the `jti` of the token that suspended it" }) })
    .nullable()
    .meta({ description: "null if the container takes runs" }),
};
const policy = named(
  "Policy",
  z.object({ limits: LIMITS, ...described }).meta({ description: "what an administrator has set for a container" }),
);
const restarted = named("RestartedContainer", z.object({ container: z.string(), restarted: z.literal(true) }));
const page = named(
  "ContainerPage",
  z.object({
    containers: z.array(
      z.object({
        container: z.string(),
        limits: LIMITS,
        policy: z.object({ limits: LIMITS }).meta({ description: "the same limits as in `limits`", deprecated: true }),
        ...described,
        used: USED.meta({ description: "the runs that count now" }),
        parties: z.int().meta({ description: "the guests and places of the container" }),
        running: z.int().meta({ description: "the runs in flight" }),
      }),
    ),
    next: NEXT,
  }),
);
const EXAMPLE_PAGE = {
  containers: [
    {
      container: "acme",
      ...EXAMPLE_REQUEST,
      policy: EXAMPLE_REQUEST,
      ...EXAMPLE_DESCRIBED,
      used: { second: 0, minute: 2, hour: 60, day: 60, week: 60, month: 60 },
      parties: 1,
      running: 0,
    },
  ],
  next: null,
};

const limitState = (...headers: "Caisson-Hint"[]): SuccessAnswer => ({
  ...ok("what is left", LIMIT_STATE, EXAMPLE_LIMITS),
  headers: ["RateLimit", "RateLimit-Policy", ...headers],
});

/** An answer with a hint if no container of this name is in use. */
const hinted = (answer: SuccessAnswer): SuccessAnswer => ({ ...answer, headers: ["Caisson-Hint"] });

export const CONTAINER_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/api/containers",
    id: "listContainers",
    tag: CONTAINERS,
    summary: "List the containers of the token that have a policy, counted runs or a guest",
    token: "required",
    query: LABELLED_PAGE,
    answers: [ok("a page of containers", page, EXAMPLE_PAGE)],
    errors: TOKEN_ERRORS,
  },
  {
    method: "get",
    path: "/api/containers/{container}",
    id: "getPolicy",
    tag: CONTAINERS,
    summary: "Read the policy of a container, as an administrator",
    token: "required",
    answers: [ok("the policy", policy, EXAMPLE_POLICY)],
    errors: [...TOKEN_ERRORS, "container_invalid"],
  },
  {
    method: "put",
    path: "/api/containers/{container}",
    id: "setPolicy",
    tag: CONTAINERS,
    summary: "Replace the limits of a container, as an administrator",
    token: "required",
    body: { isRequired: true, content: jsonContent(request, EXAMPLE_REQUEST) },
    answers: [ok("the policy", policy, EXAMPLE_POLICY)],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS, "container_invalid"],
  },
  {
    method: "patch",
    path: "/api/containers/{container}",
    id: "changePolicy",
    tag: CONTAINERS,
    summary: "Change limits, labels and description of a container by a merge patch (RFC 7396), as an administrator",
    token: "required",
    body: {
      isRequired: true,
      content: ["application/merge-patch+json", "application/json"].map((type) => ({
        type,
        schema: patch,
        example: { labels: { team: "billing", env: null } },
      })),
    },
    answers: [ok("the policy", policy, EXAMPLE_POLICY)],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS, "container_invalid"],
  },
  {
    method: "delete",
    path: "/api/containers/{container}",
    id: "removePolicy",
    tag: CONTAINERS,
    summary: "Remove limits, labels and description of a container, as an administrator. A suspension stays",
    token: "required",
    answers: [ok("the policy", policy, { limits: {}, labels: {}, description: null, suspended: null })],
    errors: [...TOKEN_ERRORS, "container_invalid", "overloaded"],
  },
  {
    method: "post",
    path: "/api/containers/{container}/suspend",
    id: "suspendContainer",
    tag: CONTAINERS,
    summary: "Answer runs in a container with 403 from now on, as an administrator",
    token: "required",
    query: NOW,
    answers: [
      hinted(
        ok("the policy", policy, { ...EXAMPLE_POLICY, suspended: { at: "2026-11-23T10:00:00.123Z", by: EXAMPLE_JTI } }),
      ),
    ],
    errors: [...TOKEN_ERRORS, "container_invalid", "overloaded"],
  },
  {
    method: "post",
    path: "/api/containers/{container}/resume",
    id: "resumeContainer",
    tag: CONTAINERS,
    summary: "Let a suspended container take runs again, as an administrator",
    token: "required",
    answers: [hinted(ok("the policy", policy, EXAMPLE_POLICY))],
    errors: [...TOKEN_ERRORS, "container_invalid", "overloaded"],
  },
  {
    method: "post",
    path: "/api/containers/{container}/restart",
    id: "restartContainer",
    tag: CONTAINERS,
    summary: "Replace the guests of a container, as an administrator or with the verb tasks",
    token: "required",
    query: NOW,
    answers: [hinted(ok("the guests are replaced", restarted, { container: "acme", restarted: true }))],
    errors: [...TOKEN_ERRORS, "container_invalid"],
  },
  {
    method: "get",
    path: "/api/limits/container/{container}",
    id: "getContainerLimits",
    tag: LIMITS_TAG,
    summary: "Read what is left of the limits of a container",
    token: "required",
    query: DETAIL,
    answers: [limitState()],
    errors: [...TOKEN_ERRORS, "container_invalid"],
  },
  {
    method: "delete",
    path: "/api/limits/container/{container}",
    id: "resetContainerLimits",
    tag: LIMITS_TAG,
    summary: "Reset the counts of a container, as an administrator",
    token: "required",
    query: DETAIL,
    answers: [limitState()],
    errors: [...TOKEN_ERRORS, "container_invalid"],
  },
  {
    method: "get",
    path: "/api/limits/token/{jti}",
    id: "getTokenLimits",
    tag: LIMITS_TAG,
    summary: "Read what is left of the limits of a token",
    token: "required",
    query: DETAIL,
    answers: [limitState("Caisson-Hint")],
    errors: TOKEN_ERRORS,
  },
  {
    method: "delete",
    path: "/api/limits/token/{jti}",
    id: "resetTokenLimits",
    tag: LIMITS_TAG,
    summary: "Reset the counts of a token, as an administrator",
    token: "required",
    query: DETAIL,
    answers: [limitState("Caisson-Hint")],
    errors: TOKEN_ERRORS,
  },
];
