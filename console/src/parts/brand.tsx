import { setting } from "../session.ts";

/** The name or the logo that the operator chose. */
export function Brand() {
  const title = setting("title") ?? "caisson";
  const logo = setting("logo");
  return logo === null ? <>{title}</> : <img src={logo} alt={title} />;
}
