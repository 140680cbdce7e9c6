import { basename, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
/** The program of each command that is a service. */
const services: Readonly<Record<string, string>> = {
  start: 'main.js',
  gateway: 'gateway/main.js',
  query: 'query/main.js',
  console: 'console/main.js',
};

/** Commands that are npm scripts of a checkout; its script `sluice` runs the others. */
const scripts = [...Object.keys(services), 'token', 'janitor'];

/**
 * How a user runs a command in this installation: with npm in a checkout, with the package's own command (cli/sluice.ts),
 * or with its file in the image. Never with `npx` alone: it would run a package of that name from the registry.
 */
export function commandLine(name: string, options = ''): string {
  if (import.meta.url.endsWith('.ts')) {
    if (!scripts.includes(name)) return `npm run -s sluice -- ${name} ${options}`.trimEnd();
    return `npm run -s ${name}${options === '' ? '' : ` -- ${options}`}`;
  }
  const command =
    basename(root) === 'dist'
      ? `npx --no-install sluice ${name}`
      : `node ${services[name] ?? `cli/${name}.js`}`;
  return `${command} ${options}`.trimEnd();
}

/** Prints the usage of a command and exits, if --help or -h is among its arguments. */
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
