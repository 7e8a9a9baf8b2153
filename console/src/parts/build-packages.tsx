import { useSignal } from "@preact/signals";

import { useAct } from "../act.ts";
import { bytes, counted } from "../format.ts";
import { rangesOf } from "../package-ranges.ts";
import { linkTo } from "../route.ts";
import { client } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { Field } from "./field.tsx";

/** Builds packages before the first run that imports them. */
export function BuildPackages({ onBuilt }: { readonly onBuilt: () => void }) {
  const wanted = useSignal("");
  const built = useSignal<string | null>(null);
  const act = useAct();
  const build = (event: Event): void => {
    event.preventDefault();
    built.value = null;
    void act.run(async () => {
      const { lock, bytes: size } = await client().packages.warm(rangesOf(wanted.value) ?? {});
      built.value = lock.key;
      onBuilt();
      return `Built ${Object.values(lock.roots).join(", ")}: ${counted(lock.packages.length, "package")}, ${bytes(size)}.`;
    });
  };
  return (
    <section class="card" aria-label="Build packages">
      <h2>Build packages</h2>
      <p class="quiet">
        The first run that imports packages waits for their build. Build them here, and the first run is as fast as the
        second.
      </p>
      <form class="actions" onSubmit={build}>
        <Field
          label="Packages to build"
          hint="such as zod@^4, lodash"
          isRequired
          value={wanted.value}
          onInput={(text) => (wanted.value = text)}
        />
        <button type="submit" disabled={act.isBusy}>
          {act.isBusy ? "Building..." : "Build"}
        </button>
      </form>
      <ActNote of={act} />
      {built.value !== null && (
        <p>
          <a href={linkTo("packages", [built.value])}>Its lock</a>
        </p>
      )}
    </section>
  );
}
