import { type LimitSources, originOf, shownOrigin } from "../../limits/limit-origin.ts";
import { limitDetail, limitRecord } from "../../limits/limit-record.ts";
import type { KeyReading } from "../../limits/store.ts";
import type { Caller } from "../../tokens/caller.ts";
import { type Claims, isJti, permitsVerb } from "../../tokens/claims.ts";
import type { TokenStore } from "../../tokens/store.ts";
import { requireAdmin, requireContainer, requireVerb, tokenOutOfReach } from "../permissions.ts";
import { rateLimitHeaders } from "../ratelimit-headers.ts";
import { containerName, decode } from "../target.ts";
import { DETAIL } from "./queries.ts";
import { readQuery } from "./read-query.ts";
import {
  type Api,
  type ApiDependencies,
  audit,
  authenticate,
  type Call,
  json,
  lastSegment,
  resource,
} from "./route.ts";

/** A token that another node signed is not stored here, so an unknown jti is not an error. */
function unknownJti(jti: string): readonly string[] {
  const form = isJti(jti) ? "" : " A jti is a UUID in lower case.";
  const hint = `No token with this jti is stored here. These are the limits of the service.${form} GET /api/tokens lists the stored tokens.`;
  return ["Caisson-Hint", hint];
}

/** Serves the use of limits. Administrators can also reset it. */
export function serveLimits(api: Api, dependencies: ApiDependencies): void {
  const { config, limiter, policies, tokens } = dependencies;
  const defaults = { container: config.containerLimit, token: config.tokenLimit };
  const authorizeContainer = async (call: Call, administrate: boolean): Promise<[string, Caller, boolean]> => {
    const caller = await authenticate(call, dependencies);
    const { claims } = caller;
    const name = containerName(lastSegment(call));
    const detail = wantsDetail(call);
    if (administrate) requireAdmin(claims, "resetting limits");
    else requireVerb(claims, "limits", "reading limits");
    requireContainer(claims, name, "reading limits");
    return [name, caller, detail];
  };
  const answerContainer = async (name: string, by: Caller, detail: boolean): Promise<Response> => {
    const subject = await by.limitSubject();
    const usage = await Promise.all([
      limiter.container(name, subject),
      limiter.token(subject.jti, subject.limits.token),
    ]);
    const sources: LimitSources = {
      defaults,
      policy: policies.get(name)?.limits,
      subject,
      isTask: by.claims.task !== null,
      bearerJti: by.claims.jti,
    };
    return record(usage[0], usage, detail, (window, limit) =>
      shownOrigin(originOf(0, window, limit, sources), isKnownTo(by)),
    );
  };
  resource(
    api,
    "/api/limits/container/:name{[^/]*}",
    {
      GET: async (call) => answerContainer(...(await authorizeContainer(call, false))),
      DELETE: async (call) => {
        const [name, by, detail] = await authorizeContainer(call, true);
        await limiter.resetContainer(name);
        await audit(call, dependencies, "limits reset", by, { container: name });
        return answerContainer(name, by, detail);
      },
    },
    { GET: DETAIL, DELETE: DETAIL },
  );

  const authorizeToken = async (call: Call, administrate: boolean): Promise<[string, Caller, boolean]> => {
    const caller = await authenticate(call, dependencies);
    const { claims } = caller;
    const detail = wantsDetail(call);
    const jti = decode(lastSegment(call)) ?? "";
    if (administrate) requireAdmin(claims, "resetting limits");
    else if (!claims.admin && !(await mayRead(jti, claims, tokens.store))) {
      if (!permitsVerb(claims, "tasks")) requireVerb(claims, "limits", "reading limits");
      throw tokenOutOfReach("reading the limits", "itself and the tasks below it");
    }
    return [jti, caller, detail];
  };
  const answerToken = async (jti: string, { claims: by }: Caller, detail: boolean): Promise<Response> => {
    // The limits of the caller's own token are in its claims, also if another node issued it. For any other token that
    // is not in this store, the limits of the service apply.
    const claims = jti === by.jti ? by : (await tokens.store.issued(jti))?.claims;
    const usage = await limiter.token(jti, claims?.limits.token);
    // A caller that may read the limits of a token has named its jti.
    const origin: Parameters<typeof limitDetail>[1] = (window, limit) =>
      claims?.limits.token?.[window] === limit ? { setBy: "token", jti } : { setBy: "server" };
    return record(usage, [usage], detail, origin, claims ? [] : unknownJti(jti));
  };
  resource(
    api,
    "/api/limits/token/:jti{[^/]*}",
    {
      GET: async (call) => answerToken(...(await authorizeToken(call, false))),
      DELETE: async (call) => {
        const [jti, by, detail] = await authorizeToken(call, true);
        await limiter.resetToken(jti);
        await audit(call, dependencies, "limits reset", by, { token: jti });
        return answerToken(jti, by, detail);
      },
    },
    { GET: DETAIL, DELETE: DETAIL },
  );
}

/**
 * Whether a token may read the limits of `jti`. A token may read its own limits. Ancestors of a named task's token may
 * read the limits of the task, because the task's token is not a credential that could request them itself.
 */
async function mayRead(jti: string, by: Claims, store: TokenStore): Promise<boolean> {
  if (jti === by.jti) return permitsVerb(by, "limits");
  if (!permitsVerb(by, "limits") && !permitsVerb(by, "tasks")) return false;
  const issued = await store.issued(jti);
  return issued !== undefined && issued.claims.task !== null && issued.claims.parents.includes(by.jti);
}

function wantsDetail(call: Call): boolean {
  return readQuery(call.env.incoming.url!, DETAIL).detail === true;
}

function isKnownTo({ claims }: Caller): (jti: string) => boolean {
  return (jti) => claims.admin || jti === claims.jti || claims.parents.includes(jti);
}

function record(
  usage: KeyReading,
  all: readonly KeyReading[],
  detail: boolean,
  origin: Parameters<typeof limitDetail>[1],
  headers: readonly string[] = [],
): Response {
  const body = detail ? limitDetail(usage, origin) : limitRecord(usage);
  return json(200, body, [...rateLimitHeaders(all), ...headers]);
}
