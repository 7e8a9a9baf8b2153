import { type ComponentType, lazy, Suspense } from "preact/compat";

import { pagesOf } from "./pages.ts";
import { SignIn } from "./pages/sign-in.tsx";
import { Failure } from "./parts/failure.tsx";
import { Frame } from "./parts/frame.tsx";
import { Offer } from "./parts/offer.tsx";
import { route } from "./route.ts";
import { onlyContainer, session } from "./session.ts";

const loaded = new Map<string, ComponentType>();

/** The whole console: the sign-in, or a page in its frame. */
export function App() {
  if (session.value === null) return <SignIn />;
  const pages = pagesOf();
  const { page, names } = route.value;
  const wanted = pages.find(({ id }) => id === page) ?? pages[0]!;
  const Page = pageOf(wanted.id, wanted.load);
  return (
    <Frame pages={pages} current={wanted.id} container={onlyContainer.value}>
      <Offer />
      {/* A change of the query must keep the page, with the focus of the field that changed it. */}
      <Failure key={[page, ...names].join("/")}>
        <Suspense fallback={<p class="quiet">Loading...</p>}>
          <Page />
        </Suspense>
      </Failure>
    </Frame>
  );
}

function pageOf(id: string, load: () => Promise<{ default: ComponentType }>): ComponentType {
  const known = loaded.get(id);
  if (known) return known;
  const made = lazy(load);
  loaded.set(id, made);
  return made;
}
