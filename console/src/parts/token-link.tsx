import { linkTo } from "../route.ts";

const SHOWN_CHARS = 8;

/** The link to a token, with the beginning of its `jti`. */
export function TokenLink({ jti }: { readonly jti: string }) {
  return (
    <a class="mono" href={linkTo("tokens", [jti])} title={jti}>
      {jti.slice(0, SHOWN_CHARS)}
    </a>
  );
}
