import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

/** Nothing here yet: says so, and what to do next. */
export function EmptyState({
  icon,
  title,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  /** What to do, and the button that does it. */
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <div class="stack">{children}</div>
    </div>
  );
}
