import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './child-process.ts';

/** The variables that `npm start` sets before Node starts, because libuv and malloc only read them at start. */
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
