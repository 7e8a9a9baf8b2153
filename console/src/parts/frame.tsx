import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { forgetDrafts } from "../drafts.ts";
import type { Page } from "../pages.ts";
import { linkTo, route } from "../route.ts";
import { session, setting, signOut } from "../session.ts";
import { Brand } from "./brand.tsx";
import { ConfirmDialog } from "./confirm.tsx";

interface FrameProps {
  readonly pages: readonly Page[];
  readonly current: string;
  /** The one container of a narrow token. */
  readonly container: string | null;
  readonly children: ComponentChildren;
}

/** The navigation, and the page in its landmark. */
export function Frame({ pages, current, container, children }: FrameProps) {
  const { claims } = session.value!;
  const nav = useRef<HTMLElement>(null);
  // On a phone the links scroll, and the current one may be out of view.
  useEffect(() => {
    const link = nav.current!.querySelector<HTMLElement>("[aria-current]");
    if (link) nav.current!.scrollLeft = link.offsetLeft - (nav.current!.clientWidth - link.offsetWidth) / 2;
    const title = pages.find(({ id }) => id === current)?.title;
    document.title = `${title} - ${setting("title") ?? "caisson"}`;
  }, [current]);
  const place = [route.value.page, ...route.value.names].join("/");
  useEffect(() => {
    scrollTo(0, 0);
    // The link that led here may be gone, and the next Tab would begin at the top.
    if (document.activeElement === document.body) document.getElementById("content")?.focus({ preventScroll: true });
  }, [place]);
  return (
    <div class="frame">
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <header>
        <a class="brand" href={linkTo("overview")}>
          <Brand />
        </a>
        {container !== null && <span class="scope">{container}</span>}
        <nav ref={nav} aria-label="Pages">
          {pages.map(({ id, title }) => (
            <a key={id} href={linkTo(id)} aria-current={id === current ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="who">
          <span class="quiet" title={claims.description ?? undefined}>
            {claims.admin ? "administrator" : (claims.description ?? "token")}
          </span>
          <button
            type="button"
            onClick={() => {
              forgetDrafts();
              signOut();
            }}
          >
            Sign out
          </button>
        </div>
      </header>
      <ConfirmDialog />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** The fragment is the route, so the link moves the focus itself. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}
