import { basename, dirname } from 'node:path';

const root = dirname(dirname(import.meta.dirname));

/**
 * How people call a command where this program runs: by npm in a checkout, by the package's own command (sluice.ts), or
 * by its file in the image.
 */
export function commandLine(name: string, options = ''): string {
  if (import.meta.url.endsWith('.ts')) {
    return `npm run -s ${name}${options === '' ? '' : ` -- ${options}`}`;
  }
  const command = basename(root) === 'dist' ? `npx sluice ${name}` : `node ${name}.js`;
  return `${command} ${options}`.trimEnd();
}
