import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';

export interface PageFrameProps {
  readonly title: string;
  /** The parent pages, outermost first; addresses made by `to`. */
  readonly crumbs?: readonly (readonly [text: string, href: string])[];
  readonly actions?: ComponentChildren;
  readonly intro?: ComponentChildren;
  /** Fills the height of the window, for tables that scroll by themselves. */
  readonly full?: boolean;
  readonly children: ComponentChildren;
}

/** Sets the title of the window. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} – Sluice`;
  }, [title]);
}

/** A page's heading and its content. The focus goes to the heading when the page changes. */
export function Page(props: PageFrameProps): JSX.Element {
  const { title, crumbs = [], actions, intro, full = false, children } = props;
  useTitle(title);
  return (
    <main id="main" class={`page${full ? ' full' : ''}`}>
      {crumbs.length > 0 && (
        <nav class="crumbs" aria-label="Breadcrumbs">
          <ol>
            {crumbs.map(([text, href]) => (
              <li key={href}>
                <a href={href}>{text}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="row apart page-head">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {intro !== undefined && <p class="intro">{intro}</p>}
        </div>
        {actions !== undefined && <div class="row">{actions}</div>}
      </div>
      {children}
    </main>
  );
}
