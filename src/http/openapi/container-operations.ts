import { z } from "zod";

import { policyRequest } from "../../policies/policy-request.ts";
import { DETAIL, PAGE } from "../api/queries.ts";
import { BODY_ERRORS, jsonContent, named, ok, type Operation, type SuccessAnswer, TOKEN_ERRORS } from "./operation.ts";
import { EXAMPLE_LIMITS, LIMIT_STATE, LIMITS, NEXT, USED } from "./schemas.ts";

const CONTAINERS = "Containers";
const LIMITS_TAG = "Limits";
const EXAMPLE_POLICY = { limits: { minute: 600 } };

const request = named("PolicyRequest", policyRequest);
const policy = named(
  "Policy",
  z.object({ limits: LIMITS }).meta({ description: "what an administrator has set for a container" }),
);
const page = named(
  "ContainerPage",
  z.object({
    containers: z.array(
      z.object({
        container: z.string(),
        policy,
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
      policy: EXAMPLE_POLICY,
      used: { second: 0, minute: 2, hour: 60, day: 60, week: 60, month: 60 },
      parties: 1,
      running: 0,
    },
  ],
  next: null,
};

const limitState = (): SuccessAnswer => ({
  ...ok("what is left", LIMIT_STATE, EXAMPLE_LIMITS),
  headers: ["RateLimit", "RateLimit-Policy"],
});

export const CONTAINER_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/api/containers",
    id: "listContainers",
    tag: CONTAINERS,
    summary: "List the containers of the token that have a policy, counted runs or a guest",
    token: "required",
    query: PAGE,
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
    summary: "Replace the policy of a container, as an administrator",
    token: "required",
    body: { isRequired: true, content: jsonContent(request, EXAMPLE_POLICY) },
    answers: [ok("the policy", policy, EXAMPLE_POLICY)],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS, "container_invalid"],
  },
  {
    method: "delete",
    path: "/api/containers/{container}",
    id: "removePolicy",
    tag: CONTAINERS,
    summary: "Remove the policy of a container, as an administrator",
    token: "required",
    answers: [ok("the policy, which sets nothing now", policy, { limits: {} })],
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
    answers: [limitState()],
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
    answers: [limitState()],
    errors: TOKEN_ERRORS,
  },
];
