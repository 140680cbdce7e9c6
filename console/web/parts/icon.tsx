import type { JSX } from 'preact';

/** Strokes on a grid of 24. */
const paths = {
  logo: 'M6 5v14M18 5v14M6 10c2-2 4-2 6 0s4 2 6 0M6 15c2-2 4-2 6 0s4 2 6 0',
  projects: 'M3 7.5 12 3l9 4.5-9 4.5zM3 12l9 4.5 9-4.5M3 16.5 12 21l9-4.5',
  tokens: 'M14.5 9.5a4.5 4.5 0 1 0-4 4.5l1.5-1.5h2V10.500zM13 12l7 7v2h-3l-1-2-2-.5-.5-2.500M9 9h.01',
  members:
    'M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM2.500 20c.8-3.500 3.200-5 6.500-5s5.700 1.500 6.500 5M16 4.500a3.500 3.500 0 0 1 0 6.500M18 15.500c2 .7 3.100 2.200 3.500 4.500',
  webhooks: 'M4 12h11M11 7l5 5-5 5M20 5v14',
  usage: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-5 8-5s7 1 8 5',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  close: 'm6 6 12 12M18 6 6 18',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  upload: 'M12 16V4M7 9l5-5 5 5M4 16v4h16v-4',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1.500 1.500M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1.500-1.500',
  pause: 'M9 5v14M15 5v14',
  play: 'M8 5v14l11-7z',
  retry: 'M4 12a8 8 0 1 0 2.500-5.800M4 4v4.500h4.500',
  file: 'M6 3h8l5 5v13H6zM14 3v5h5',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 2.500-2.500L20 17M15.500 9h.01',
  audio:
    'M9 18V6l10-2v12M9 18a2.500 2.500 0 1 1-5 0 2.500 2.500 0 0 1 5 0zM19 16a2.500 2.500 0 1 1-5 0 2.500 2.500 0 0 1 5 0z',
  video: 'M3 6h12v12H3zM15 10.500 21 7v10l-6-3.500',
  text: 'M6 3h8l5 5v13H6zM14 3v5h5M9 12h7M9 16h5',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  plus: 'M12 5v14M5 12h14',
  search: 'M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500 20 20',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500 19 19M5 19l1.500-1.500M17.500 6.500 19 5',
  moon: 'M20 14.500A8.500 8.500 0 1 1 9.500 4a7 7 0 0 0 10.500 10.500z',
  system: 'M3 5h18v11H3zM9 20h6M12 16v4',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  down: 'm6 10 6 6 6-6',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  grid: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  folder: 'M3 6h6l2 2h10v11H3z',
  up: 'm6 14 6-6 6 6',
  warning: 'M12 4 2.500 20h19zM12 10v4M12 17h.01',
} as const;

export type IconName = keyof typeof paths;

/** Decorative: the meaning is in the text next to it, or in the label of its button. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
