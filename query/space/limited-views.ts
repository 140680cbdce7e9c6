import type { ReadLimitsOfToken } from '../../common/auth/access-tokens.ts';
import type { RecordSpace } from '../structure/record-space.ts';

const mostViews = 1000;

/**
 * Spaces as tokens with limits of their own see them. One object for one view and its limits: what is kept, and what is
 * read for several requests at once, belongs to a view.
 */
export class LimitedViews {
  readonly #views = new WeakMap<RecordSpace, Map<string, RecordSpace>>();

  of(space: RecordSpace, limits: ReadLimitsOfToken): RecordSpace {
    const views = this.#views.get(space) ?? new Map<string, RecordSpace>();
    this.#views.set(space, views);
    const key = `${limits.maxRows} ${limits.timeout}`;
    const known = views.get(key);
    if (known !== undefined) return known;
    // a user can make and revoke tokens without end
    if (views.size >= mostViews) views.clear();
    const view = { ...space, limits };
    views.set(key, view);
    return view;
  }
}
