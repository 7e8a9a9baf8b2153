import type { Packages as Answer } from "@caisson/client";

import { ago, bytes, count } from "../format.ts";
import { useLoad } from "../load.ts";
import { versionsText } from "../package-ranges.ts";
import { AllowedPackages } from "../parts/allowed-packages.tsx";
import { BuildPackages } from "../parts/build-packages.tsx";
import { Content } from "../parts/content.tsx";
import { OneLock } from "../parts/one-lock.tsx";
import { PackageBuilds } from "../parts/package-builds.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { linkTo, route } from "../route.ts";
import { can, client } from "../session.ts";

type Row = Answer["packages"][number];

/** A build takes seconds. */
const EVERY_MS = 2_000;
const KEY_CHARS = 12;

/** What code may import from npm, and the sets of packages that are built, or one of them. */
export default function Packages() {
  const [key] = route.value.names;
  return key === undefined ? <AllPackages /> : <OneLock lockKey={key} />;
}

function AllPackages() {
  const list = useLoad((signal) => client().packages.list({ signal }), [], EVERY_MS);
  return (
    <>
      <div class="head">
        <h1>Packages</h1>
      </div>
      <Content of={list}>
        {(value) => (
          <>
            <div class="columns">
              <AllowedPackages packages={value} onChange={list.reload} />
              {can("run") && value.npm !== "none" && <BuildPackages onBuilt={list.reload} />}
            </div>
            {value.npm !== "none" && <PackageBuilds builds={value.builds} />}
            <section class="part" aria-label="Built packages">
              <h2>Built packages</h2>
              <Space used={value.bytes} most={value.maxBytes} />
              {value.packages.length === 0 ? (
                <p class="empty">
                  No set is built. The first run, or the first task, that imports a package builds it.
                </p>
              ) : (
                <VirtualTable
                  label="Built packages"
                  columns={COLUMNS}
                  rows={value.packages}
                  keyOf={({ lock }) => lock}
                />
              )}
            </section>
          </>
        )}
      </Content>
    </>
  );
}

function Space({ used, most }: { readonly used: number; readonly most: number }) {
  return (
    <div>
      <meter
        aria-label={`${bytes(used)} of ${bytes(most)} are used`}
        min={0}
        max={most}
        high={most * 0.8}
        value={Math.min(used, most)}
      />
      <p class="quiet small">
        {bytes(used)} of {bytes(most)} (--packages-size). The sets that were not used for the longest time go first, and
        none that a task needs.
      </p>
    </div>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: "Lock",
    cell: ({ lock }) => (
      <a class="mono" href={linkTo("packages", [lock])} title={lock}>
        {lock.slice(0, KEY_CHARS)}
      </a>
    ),
  },
  { title: "Packages", isWide: true, cell: ({ versions }) => versionsText(versions) },
  { title: "With dependencies", isNumber: true, cell: ({ count: number }) => count(number) },
  { title: "Size", isNumber: true, cell: ({ bytes: size }) => bytes(size) },
  { title: "Built", cell: ({ builtAt }) => <span title={builtAt}>{ago(builtAt)}</span> },
  { title: "Used", cell: ({ usedAt }) => <span title={usedAt}>{ago(usedAt)}</span> },
];
