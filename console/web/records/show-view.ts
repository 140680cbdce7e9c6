import { navigate, place, samePage } from '../router.ts';
import { queryOfView, type RecordView, viewOfQuery } from './record-view.ts';

/**
 * Changes the view in the URL; the back button undoes it. It starts from the URL, so that two filters typed in quick
 * succession both apply, although the page may still show an older view.
 */
export function showView(change: (view: RecordView) => RecordView): void {
  navigate(samePage(queryOfView(change(viewOfQuery(place.value.query)))));
}
