import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const stored = localStorage.getItem('theme');

/** The chosen theme; the styles follow `data-theme` on the root element, or the system without one. */
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

export function startTheme(): void {
  effect(() => {
    const { dataset } = document.documentElement;
    if (theme.value === 'system') {
      delete dataset.theme;
      localStorage.removeItem('theme');
    } else {
      dataset.theme = theme.value;
      localStorage.setItem('theme', theme.value);
    }
  });
}
