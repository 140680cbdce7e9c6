import type { JSX } from 'preact';
import { formatSince, formatTime } from './format.ts';

/** How long ago something was; exactly, when it is pointed at. */
export function Time({ date }: { readonly date: string | null }): JSX.Element {
  if (date === null) return <span class="quiet">never</span>;
  return (
    <time class="nowrap" dateTime={date} title={formatTime(date)}>
      {formatSince(date)}
    </time>
  );
}
