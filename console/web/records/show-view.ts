import { navigate } from '../router.ts';
import { queryOfView, type RecordView } from './record-view.ts';

/** Goes to a view of the same space; Back comes back to the one before. */
export function showView(view: RecordView): void {
  const query = queryOfView(view);
  navigate(`${window.location.pathname}${query === '' ? '' : `?${query}`}`);
}
