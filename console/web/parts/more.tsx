import type { JSX } from 'preact';
import { Button } from './button.tsx';
import type { Pages } from './load.ts';
import { ProblemNote } from './problem-note.tsx';

/** Below a list: a button for the next page, or the problem. */
export function More<Item>({ pages }: { readonly pages: Pages<Item> }): JSX.Element | null {
  if (pages.problem !== null) {
    return (
      <ProblemNote problem={pages.problem} onRetry={pages.items === null ? pages.reload : pages.loadMore} />
    );
  }
  if (!pages.hasMore) return null;
  return (
    <div class="more">
      <Button busy={pages.loading} onClick={pages.loadMore}>
        {pages.loading ? 'Loading…' : 'Show more'}
      </Button>
    </div>
  );
}
