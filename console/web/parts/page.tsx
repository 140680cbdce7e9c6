import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';

export interface Crumb {
  readonly label: string;
  /** Made by `to`. */
  readonly href: string;
}

export interface PageFrameProps {
  /** Its heading, and the title of the window. */
  readonly title: string;
  /** The pages above it, outermost first. */
  readonly crumbs?: readonly Crumb[];
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  /** One sentence below the heading. */
  readonly intro?: ComponentChildren;
  /** Fills the height of the window, for tables that scroll by themselves. */
  readonly full?: boolean;
  readonly children: ComponentChildren;
}

/** A page's heading and its content. The focus goes to the heading when the page changes. */
export function Page({
  title,
  crumbs = [],
  actions,
  intro,
  full = false,
  children,
}: PageFrameProps): JSX.Element {
  useEffect(() => {
    document.title = `${title} – Sluice`;
  }, [title]);
  return (
    <main id="main" class={`page${full ? ' full' : ''}`}>
      {crumbs.length > 0 && (
        <nav class="crumbs" aria-label="Breadcrumbs">
          <ol>
            {crumbs.map(({ label, href }) => (
              <li key={href}>
                <a href={href}>{label}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-head">
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
