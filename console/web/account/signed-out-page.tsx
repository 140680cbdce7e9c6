import type { ComponentChildren, JSX } from 'preact';
import { useTitle } from '../parts/page.tsx';
import { Brand, ThemeSwitch } from '../parts/shell.tsx';

interface SignedOutPageProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly foot?: ComponentChildren;
}

/** The frame of the pages without a login. */
export function SignedOutPage({ title, children, foot }: SignedOutPageProps): JSX.Element {
  useTitle(title);
  return (
    <main class="signed-out" id="main">
      <div class="row apart">
        <Brand />
        <ThemeSwitch />
      </div>
      <div class="card stack">
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
      {foot && <p class="signed-out-foot quiet">{foot}</p>}
    </main>
  );
}
