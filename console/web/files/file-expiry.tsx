import type { JSX } from 'preact';
import { formatSince, formatTime } from '../parts/format.ts';

/** When something is gone: "gone in 3 days". */
export function Expiry({ at }: { readonly at: string }): JSX.Element {
  return (
    <time class="badge warn" dateTime={at} title={formatTime(at)}>
      {Date.parse(at) <= Date.now() ? 'expired' : `gone ${formatSince(at)}`}
    </time>
  );
}
