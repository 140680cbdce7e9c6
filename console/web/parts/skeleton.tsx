import type { JSX } from 'preact';

/** A placeholder of the height of the coming text. */
export function Skeleton({ lines = 1 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class="skeletons" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        <span class="skeleton" key={index} />
      ))}
    </div>
  );
}
