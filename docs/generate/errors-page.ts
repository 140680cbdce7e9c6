import type { ApiError } from '#kernel/errors/api-error.ts';
import { samples } from './errors.ts';

/** docs/errors.md with the errors of the code. What to do about them, and what stands above, stays as the page has it. */
export function errorsPage(page: string): string {
  const remedies = new Map<string | undefined, string | undefined>();
  for (const [, code, remedy] of page.matchAll(/^\| \d+ \| `(\w+)` \| .* \| (.+) \| .*\|$/gm))
    remedies.set(code, remedy);
  const byCode = new Map<string, ApiError>();
  for (const error of Object.values(samples)) {
    if (!byCode.has(error.code)) byCode.set(error.code, error);
  }
  const sorted = [...byCode.values()].sort((a, b) => a.status - b.status);
  const rows = sorted.map(({ status, code, message, headers }) => {
    const remedy = remedies.get(code);
    if (remedy === undefined) throw new Error(`what helps against ${code}? Add its row to docs/errors.md`);
    const names = Object.keys(headers).map((name) => `\`${name}\``);
    return `| ${status} | \`${code}\` | ${message.replaceAll('|', '\\|')} | ${remedy} | ${names.join(', ')} |\n`;
  });
  return page.replace(/(?<=^\|---.*\n)[\s\S]*/m, rows.join(''));
}
