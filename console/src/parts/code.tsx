import { lazy, Suspense } from "preact/compat";

import type { EditorProps } from "./editor.tsx";

const Editor = lazy(() => import("./editor.tsx"));

/** The editor, which is loaded when a page first shows it. */
export function Code(props: EditorProps) {
  return (
    <Suspense fallback={<pre class="editor waiting">{props.value}</pre>}>
      <Editor {...props} />
    </Suspense>
  );
}
