import { limits } from './limits.ts';

/** docs/api.md with the limits of the code. All around their table stays as the page has it. */
export function apiPage(page: string): string {
  const rows = limits.map((cells) => `| ${cells.join(' | ')} |\n`);
  return page.replace(/(?<=^## Limits\n\n\|.*\n\|---.*\n)(?:\|.*\n)+/m, () => rows.join(''));
}
