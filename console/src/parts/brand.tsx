import { setting } from "../session.ts";

/** The name or the logo that the operator chose. */
export function Brand() {
  const title = setting("title") ?? "caisson";
  const logo = setting("logo");
  if (logo !== null) return <img src={logo} alt={title} />;
  return (
    <>
      <svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.6">
        <rect x="1.5" y="1.5" width="13" height="13" rx="2.5" />
        <path d="M1.5 10.5h13M5.5 10.5v4M10.5 10.5v4" />
      </svg>
      {title}
    </>
  );
}
