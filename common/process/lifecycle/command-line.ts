import { basename, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
/** Commands that are services, by the program that serves them. */
const services: Readonly<Record<string, string>> = {
  start: 'main.js',
  gateway: 'gateway/main.js',
  query: 'query/main.js',
  console: 'console/main.js',
};

/**
 * How people call a command where this program runs: by npm in a checkout, by the package's own command (cli/sluice.ts), or
 * by its file in the image.
 */
export function commandLine(name: string, options = ''): string {
  if (import.meta.url.endsWith('.ts')) {
    return `npm run -s ${name}${options === '' ? '' : ` -- ${options}`}`;
  }
  const command =
    basename(root) === 'dist' ? `npx sluice ${name}` : `node ${services[name] ?? `cli/${name}.js`}`;
  return `${command} ${options}`.trimEnd();
}

/** Prints how a command is used, and ends it, when its arguments ask for that. */
export function helpIfAsked(text: string): void {
  if (!process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) return;
  process.stdout.write(`${text.trim()}\n`);
  process.exit(0);
}

/** Ends a start that can't succeed: one sentence on standard error, exit status 1. */
export function failStart(error: unknown): never {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`sluice: ${text}\n`);
  process.exit(1);
}
