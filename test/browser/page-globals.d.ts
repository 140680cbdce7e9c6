/** What a function sees that page.evaluate runs in the page. Not the whole DOM: elsewhere its names are mistakes. */
declare const document: {
  readonly activeElement: PageElement | null;
  readonly documentElement: {
    readonly scrollWidth: number;
    readonly clientWidth: number;
    append(element: unknown): void;
  };
  readonly contentType: string;
  createElement(tag: string): unknown;
  getElementById(id: string): PageElement | null;
};

declare function getComputedStyle(
  element: unknown,
  pseudo?: string,
): { readonly textAlign: string; readonly content: string; readonly fontWeight: string };

declare const window: { readonly innerWidth: number };

interface PageElement {
  readonly tagName: string;
  readonly textContent: string | null;
}
