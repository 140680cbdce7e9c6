import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { formatBytes } from '../parts/format.ts';
import type { ReadRecord } from './record-form.ts';

/** More than this at once makes a page slow to scroll. */
const shownAtFirst = 50_000;

/** The record as the API answers it. */
export function JsonView({ record }: { readonly record: ReadRecord }): JSX.Element {
  const text = useMemo(() => JSON.stringify(record, null, 2), [record]);
  const [whole, setWhole] = useState(text.length <= shownAtFirst);
  const pre = useRef<HTMLPreElement>(null);
  const showAll = (): void => {
    setWhole(true);
    // the button that had the focus is gone
    pre.current?.focus();
  };
  return (
    <div class="stack">
      <div class="code-block">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
        <pre ref={pre} tabIndex={0} class="json">
          <code>{whole ? text : `${text.slice(0, shownAtFirst)}…`}</code>
        </pre>
        <CopyButton text={text} label="Copy the record" />
      </div>
      {!whole && <Button onClick={showAll}>Show all {formatBytes(text.length)}</Button>}
    </div>
  );
}
