import type { Health, System as Answer } from "@caisson/client";

import { ago, count, moment } from "../format.ts";
import { useLoad } from "../load.ts";
import { Audit } from "../parts/audit.tsx";
import { Content } from "../parts/content.tsx";
import { SystemChecks } from "../parts/system-checks.tsx";
import { SystemSettings } from "../parts/system-settings.tsx";
import { client } from "../session.ts";

/** The state of the service, what its start has found, its nodes, keys and settings, and who changed what. */
export default function System() {
  const system = useLoad((signal) => client().system({ signal }), [], 10_000);
  const state = useLoad((signal) => client().health({ signal }), [], 10_000);
  return (
    <>
      <div class="head">
        <h1>System</h1>
      </div>
      <Content of={system}>
        {(value) => (
          <>
            <div class="columns">
              <ServiceFacts system={value} health={state.value} />
              <Warnings warnings={value.warnings} />
              <Nodes system={value} />
              <Keys keys={value.keys} />
            </div>
            <SystemChecks nodes={value.nodes} />
            <SystemSettings settings={value.settings} nodes={value.nodes} />
          </>
        )}
      </Content>
      <section class="part" aria-label="Audit">
        <h2>Audit</h2>
        <Audit />
      </section>
    </>
  );
}

function ServiceFacts({ system, health: now }: { readonly system: Answer; readonly health: Health | null }) {
  const { version, startedAt, node, isolation, capacity } = system;
  return (
    <section class="card" aria-label="Service">
      <h2>Service</h2>
      <dl class="facts">
        <dt>State</dt>
        <dd>{now === null ? "..." : now.status === "ok" ? "takes runs" : now.status}</dd>
        <dt>Version</dt>
        <dd>{version}</dd>
        <dt>Started</dt>
        <dd>
          {moment(startedAt)} UTC, {ago(startedAt)}
        </dd>
        <dt>Node</dt>
        <dd class="mono">{node.name}</dd>
        <dt>Isolation</dt>
        <dd>
          {isolation.level} ({isolation.mechanisms})
        </dd>
        {isolation.insteadOf !== null && (
          <>
            <dt>Instead of</dt>
            <dd>{isolation.insteadOf}</dd>
          </>
        )}
        <dt>Resources by</dt>
        <dd>{isolation.resources}</dd>
        <dt>At most</dt>
        <dd>
          {count(capacity["containers"] ?? 0)} guests, {count(capacity["connections"] ?? 0)} connections
        </dd>
        {Object.entries(now?.egressRefused ?? {}).map(([reason, number]) => (
          <div key={reason} class="contents">
            <dt>Connections refused</dt>
            <dd>
              {reason}: {count(number)}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  return (
    <section class={`card ${warnings.length > 0 ? "warned" : ""}`} aria-label="Warnings">
      <h2>Warnings</h2>
      {warnings.length === 0 ? (
        <p class="quiet">Nothing needs your attention.</p>
      ) : (
        <ul class="warnings">
          {warnings.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

const NODE_BADGES = { self: "ok", alive: "ok", silent: "bad" };

function Nodes({ system: { nodes, furtherNodes } }: { readonly system: Answer }) {
  return (
    <section class="card" aria-label="Nodes">
      <h2>Nodes</h2>
      <ul class="plain">
        {nodes.map(({ name, process, url, state, version, startedAt, isolation }) => (
          <li key={process}>
            <div class="actions">
              <span class={`badge ${NODE_BADGES[state]}`}>{state === "self" ? "answers you" : state}</span>
              <strong class="mono">{name}</strong>
              <span class="quiet">
                {url ?? (nodes.length > 1 ? "without --node-url: the others cannot ask it" : "")}
              </span>
            </div>
            {nodes.length > 1 && (
              <p class="quiet small">
                {version === null
                  ? "It did not answer: its checks and settings are unknown."
                  : `version ${version}, isolation ${isolation}, started ${ago(startedAt!)}`}
              </p>
            )}
          </li>
        ))}
      </ul>
      {furtherNodes > 0 && <p class="quiet">{furtherNodes} further nodes, beyond --nodes-asked</p>}
      {nodes.length === 1 && <p class="quiet">Several nodes share their counts with --redis.</p>}
    </section>
  );
}

const KEY_BADGES = { coming: "", signing: "ok", retired: "warn" };

function Keys({ keys }: { readonly keys: Answer["keys"] }) {
  return (
    <section class="card" aria-label="Keys">
      <h2>Keys of tokens</h2>
      <ul class="plain">
        {keys.map(({ kid, state, retiredAt }) => (
          <li key={kid} class="actions">
            <span class={`badge ${KEY_BADGES[state]}`}>{state}</span>
            <span class="mono">{kid}</span>
            {retiredAt !== null && <span class="quiet">since {moment(retiredAt)} UTC</span>}
          </li>
        ))}
      </ul>
      <p class="quiet">
        <code>caisson keys rotate</code> on the machine of the service makes a new one. A retired key only verifies the
        tokens that it has signed.
      </p>
    </section>
  );
}
