import type { JSX } from 'preact';
import { Icon, type IconName } from '../parts/icon.tsx';
import { place, setQuery } from '../router.ts';

export type FileView = 'list' | 'grid';

const views: readonly { value: FileView; label: string; icon: IconName }[] = [
  { value: 'list', label: 'List', icon: 'list' },
  { value: 'grid', label: 'Pictures', icon: 'grid' },
];

/** The view is part of the URL. */
export function currentView(): FileView {
  return place.value.query.get('view') === 'grid' ? 'grid' : 'list';
}

export function ViewSwitch(): JSX.Element {
  return (
    <fieldset class="segments">
      <legend class="unseen">View</legend>
      {views.map(({ value, label, icon }) => (
        <label key={value} title={label}>
          <input
            type="radio"
            name="view"
            checked={currentView() === value}
            onChange={() => setQuery({ view: value === 'list' ? '' : value })}
          />
          <Icon name={icon} />
          <span class="unseen">{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
