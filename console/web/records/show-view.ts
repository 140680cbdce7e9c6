import { navigate, place, samePage } from '../router.ts';
import { queryOfView, type RecordView, viewOfQuery } from './record-view.ts';

/**
 * Goes from the view in the address to another one of the same space; Back comes back to it. Two filters that are typed
 * one right after the other both count: the page may still have shown an older view at the first key.
 */
export function showView(change: (view: RecordView) => RecordView): void {
  navigate(samePage(queryOfView(change(viewOfQuery(place.value.query)))));
}
