import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './child-process.ts';

/** What `npm start` sets before Node begins, because libuv and malloc read it only then. */
export function startEnvironment(): Record<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const [, pairs = ''] = /^((?:[A-Z_]+=\S+ )*)exec /.exec(scripts.start) ?? [];
  return Object.fromEntries(
    pairs
      .trimEnd()
      .split(' ')
      .map((pair) => pair.split('=') as [string, string]),
  );
}
