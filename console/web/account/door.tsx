import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Brand, ThemeSwitch } from '../parts/shell.tsx';

/** The frame of the pages without a login. */
export function Door({
  title,
  children,
  foot,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly foot?: ComponentChildren;
}): JSX.Element {
  useEffect(() => {
    document.title = `${title} – Sluice`;
  }, [title]);
  return (
    <main class="door" id="main">
      <div class="row apart">
        <Brand />
        <ThemeSwitch />
      </div>
      <div class="card">
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
      {foot !== undefined && <p class="door-foot quiet">{foot}</p>}
    </main>
  );
}
