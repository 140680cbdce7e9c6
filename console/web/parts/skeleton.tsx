import type { JSX } from 'preact';

/** Stands where text will be, as high as it. */
export function Skeleton({ lines = 1 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class="skeletons" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        <span class="skeleton" key={index} />
      ))}
    </div>
  );
}
