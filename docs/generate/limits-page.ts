import type { Limit } from './limits.ts';

/** A page whose table of "Limits" has these rows. Everything around the rows stays as the page has it. */
export function limitsPage(page: string, limits: readonly Limit[]): string {
  const rows = limits.map((cells) => `| ${cells.join(' | ')} |\n`);
  return page.replace(/(?<=^## Limits\n\n\|.*\n\|---.*\n)(?:\|.*\n)+/m, () => rows.join(''));
}
