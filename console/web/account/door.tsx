import type { ComponentChildren, JSX } from 'preact';
import { useTitle } from '../parts/page.tsx';
import { Brand, ThemeSwitch } from '../parts/shell.tsx';

interface DoorProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly foot?: ComponentChildren;
}

/** The frame of the pages without a login. */
export function Door({ title, children, foot }: DoorProps): JSX.Element {
  useTitle(title);
  return (
    <main class="door" id="main">
      <div class="row apart">
        <Brand />
        <ThemeSwitch />
      </div>
      <div class="card stack">
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
      {foot && <p class="door-foot quiet">{foot}</p>}
    </main>
  );
}
