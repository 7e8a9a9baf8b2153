import { useAct } from "../act.ts";
import { ago, count, counted, moment } from "../format.ts";
import { useLoad } from "../load.ts";
import { goTo, linkTo } from "../route.ts";
import { can, client, session, signOut } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { Content } from "./content.tsx";
import { Gauges } from "./gauges.tsx";
import { TokenLink } from "./token-link.tsx";

/** A family with more is not counted to its end before the question. */
const MOST_COUNTED = 1_000;

/** One token: what it may do, how it was used, and its end. */
export function OneToken({ jti }: { readonly jti: string }) {
  const token = useLoad((signal) => client().tokens.get(jti, { signal }), [jti]);
  const limits = useLoad((signal) => client().limits.getToken(jti, { detail: true, signal }), [jti], 5_000);
  const act = useAct();
  const revoke = (): void => {
    void act.run(async () => {
      const destroys = `The token ends at once and for good. ${await fallsWith(jti)}`;
      if (!(await confirm("Revoke this token?", destroys, "Revoke"))) return null;
      await client().tokens.revoke(jti);
      if (jti === session.value?.jti) signOut("You revoked the token of this session.");
      else goTo(linkTo("tokens"));
      return "The token was revoked.";
    });
  };
  return (
    <>
      <div class="head">
        <h1>
          Token <span class="mono">{jti}</span>
        </h1>
        <div class="actions">
          {token.value?.revoked === null && (
            <button type="button" class="danger" onClick={revoke}>
              Revoke
            </button>
          )}
        </div>
      </div>
      <ActNote of={act} />
      <Content of={token}>
        {({ claims, issuedBy, issuedAt, lastUsed, runs, revoked }) => (
          <div class="columns">
            <section class="card" aria-label="Claims">
              {revoked !== null && (
                <p class="notice">
                  Revoked at {moment(revoked.at)} UTC{revoked.jti === jti ? "" : `, with ${revoked.jti} above it`}.
                </p>
              )}
              <dl class="facts">
                <dt>May</dt>
                <dd>{claims.admin ? "everything" : claims.can.join(", ")}</dd>
                <dt>Containers</dt>
                <dd>{claims.admin ? "all" : claims.containers.join(", ")}</dd>
                <dt>Issued</dt>
                <dd>
                  {moment(issuedAt)} UTC by <TokenLink jti={issuedBy} />
                </dd>
                <dt>Ends</dt>
                <dd>{claims.exp === null ? "never" : `${moment(claims.exp)} UTC`}</dd>
                <dt>Last used</dt>
                <dd>{lastUsed === null ? "never" : `${moment(lastUsed)} UTC, ${ago(lastUsed)}`}</dd>
                <dt>Runs</dt>
                <dd>{count(runs)}</dd>
                <dt>Network</dt>
                <dd>{claims.net === false ? "none" : (claims.net?.join(", ") ?? "all that the service permits")}</dd>
                <dt>Packages</dt>
                <dd>
                  {claims.packages === false ? "none" : (claims.packages?.join(", ") ?? "all that the service permits")}
                </dd>
                <dt>Tokens below</dt>
                <dd>{claims.depth === 0 ? "it issues none" : counted(claims.depth, "generation")}</dd>
                {claims.parents.length > 0 && (
                  <>
                    <dt>Above it</dt>
                    <dd>
                      {claims.parents.map((parent) => (
                        <a key={parent} class="mono" href={linkTo("tokens", [parent])}>
                          {parent}{" "}
                        </a>
                      ))}
                    </dd>
                  </>
                )}
                {claims.description !== null && (
                  <>
                    <dt>Description</dt>
                    <dd>{claims.description}</dd>
                  </>
                )}
              </dl>
            </section>
            {can("limits") && (
              <section class="card" aria-label="Limits">
                <h2>Limits</h2>
                <Content of={limits}>{(state) => <Gauges state={state} />}</Content>
              </section>
            )}
          </div>
        )}
      </Content>
    </>
  );
}

/** Returns what ends together with a token, as a sentence. */
async function fallsWith(jti: string): Promise<string> {
  let [tokens, tasks, isMore] = [0, 0, false];
  for await (const { claims, revoked } of client().tokens.list({ limit: 200 })) {
    if (revoked !== null || !claims.parents.includes(jti)) continue;
    if (claims.task === null) tokens++;
    else tasks++;
    isMore = tokens + tasks >= MOST_COUNTED;
    if (isMore) break;
  }
  if (tokens + tasks === 0) return "No other token and no named task ends with it.";
  return `With it end ${isMore ? "at least " : ""}${counted(tokens, "token")} below it and ${counted(tasks, "named task")}.`;
}
