import type { Lock } from "@caisson/client";

import { useAct } from "../act.ts";
import { bytes, counted, moment } from "../format.ts";
import { useLoad } from "../load.ts";
import { rangesText } from "../package-ranges.ts";
import { goTo, linkTo } from "../route.ts";
import { client, isAdmin } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { Content } from "./content.tsx";
import { type Column, VirtualTable } from "./virtual-table.tsx";

type Row = Lock["packages"][number];

/** A set of packages that is built: its exact versions with their digests. */
export function OneLock({ lockKey: key }: { readonly lockKey: string }) {
  const loaded = useLoad((signal) => client().packages.lock(key, { signal }), [key]);
  const act = useAct();
  const remove = (): void => {
    void act.run(async () => {
      const destroys =
        "The built text is deleted. The next run that needs it waits until the same versions are built again.";
      if (!(await confirm("Remove these packages?", destroys, "Remove"))) return null;
      await client().packages.remove(key);
      goTo(linkTo("packages"));
      return "The packages were removed.";
    });
  };
  return (
    <>
      <div class="head">
        <h1>Built packages</h1>
        <div class="actions">
          {isAdmin.value && loaded.value !== null && (
            <button type="button" class="danger" onClick={remove}>
              Remove
            </button>
          )}
        </div>
      </div>
      <ActNote of={act} />
      <Content of={loaded}>
        {({ lock, bytes: size }) => (
          <>
            <section class="card" aria-label="Lock">
              <dl class="facts">
                <dt>Asked for</dt>
                <dd class="mono">{rangesText(lock.ranges)}</dd>
                <dt>Got</dt>
                <dd class="mono">{Object.values(lock.roots).join(", ")}</dd>
                <dt>Modules</dt>
                <dd class="mono">{lock.entries.join(", ")}</dd>
                <dt>Size</dt>
                <dd>
                  {bytes(size)}, of {counted(lock.packages.length, "package")}
                </dd>
                <dt>Built</dt>
                <dd>
                  {moment(lock.at)} UTC, by the builder {lock.builder}, for the token{" "}
                  <span class="mono">{lock.requestedBy}</span>
                </dd>
                <dt>Key</dt>
                <dd class="mono">{lock.key}</dd>
              </dl>
            </section>
            <VirtualTable
              label="Packages of the lock"
              columns={COLUMNS}
              rows={lock.packages}
              keyOf={({ name, version }) => `${name}@${version}`}
            />
          </>
        )}
      </Content>
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Package", cell: ({ name }) => <strong class="mono">{name}</strong> },
  { title: "Version", cell: ({ version }) => <span class="mono">{version}</span> },
  { title: "Depends on", isWide: true, cell: ({ dependencies }) => Object.values(dependencies).join(", ") },
  { title: "Digest of the tarball", cell: ({ integrity }) => <span class="mono">{integrity.slice(0, 28)}...</span> },
];
