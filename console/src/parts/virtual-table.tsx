import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface Column<T> {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether the column takes the room that is left, and cuts its text. */
  readonly isWide?: boolean;
  readonly cell: (row: T) => ComponentChildren;
  /** The whole text of a cell that is not a text, because a long one is cut. */
  readonly text?: (row: T) => string;
}

interface VirtualTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Called when the end of the rows comes into view. */
  readonly onEnd?: () => void;
}

const ROW_PX = 34;
/** Rows above and below the view, so that fast scrolling shows no gap. */
const MARGIN = 12;

/** A table that has only the rows in view in the document, however many there are. All rows have one height. */
export function VirtualTable<T>({ label, columns, rows, keyOf, onEnd }: VirtualTableProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600 });
  const measure = (): void => {
    const { scrollTop, clientHeight } = box.current!;
    view.value = { top: scrollTop, height: clientHeight };
    if (onEnd && scrollTop + clientHeight > (rows.length - MARGIN) * ROW_PX) onEnd();
  };
  useEffect(measure, [rows.length]);
  const first = Math.max(0, Math.floor(view.value.top / ROW_PX) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((view.value.top + view.value.height) / ROW_PX) + MARGIN);
  return (
    // A box that scrolls must take the focus, so that the keyboard scrolls it.
    <div class="scroll tall" ref={box} onScroll={measure} tabIndex={0} role="region" aria-label={label}>
      <table class="rows" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? "number" : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Gap rows={first} columns={columns.length} />}
          {rows.slice(first, last).map((row, at) => (
            <tr key={keyOf(row)} aria-rowindex={first + at + 2}>
              {columns.map((column) => (
                <Cell key={column.title} column={column} row={row} />
              ))}
            </tr>
          ))}
          {last < rows.length && <Gap rows={rows.length - last} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

function Cell<T>({ column: { isNumber, isWide, cell, text }, row }: { readonly column: Column<T>; readonly row: T }) {
  const content = cell(row);
  return (
    // A text that is cut can be read in the title.
    <td
      class={isNumber ? "number" : isWide ? "wide" : undefined}
      title={typeof content === "string" ? content : text?.(row)}
    >
      {content}
    </td>
  );
}

/** Stands for rows that are out of view. */
function Gap({ rows, columns }: { readonly rows: number; readonly columns: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={columns} style={{ height: rows * ROW_PX, padding: 0, border: 0 }} />
    </tr>
  );
}
