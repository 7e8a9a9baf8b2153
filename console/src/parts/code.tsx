import { lazy, Suspense } from "preact/compat";

import type { Mark } from "./editor.tsx";

const Editor = lazy(() => import("./editor.tsx"));

interface CodeProps {
  readonly label: string;
  readonly value: string;
  readonly revision?: number | string;
  readonly hint?: string;
  readonly mark?: Mark | null;
  readonly isReadOnly?: boolean;
  readonly onChange?: (value: string) => void;
  readonly onRun?: () => void;
}

/** The editor, which is loaded when a page first shows it. */
export function Code(props: CodeProps) {
  return (
    <Suspense fallback={<pre class="editor waiting">{props.value}</pre>}>
      <Editor {...props} />
    </Suspense>
  );
}
