import type { Profiler } from 'node:inspector';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { repositoryRoot } from './child-process.ts';

/** A function, and the share of the busy time that it took itself, without its callees. */
export interface BusyFunction {
  readonly name: string;
  /** From 0 to 1. */
  readonly share: number;
}

/** The functions in which a thread spent most time, without `(idle)`. */
export function topFunctions(
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
  count: number,
): { readonly top: readonly BusyFunction[]; readonly idle: number } {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map<string, number>();
  let idle = 0;
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    const time = timeDeltas[index] ?? 0;
    if (frame === undefined) continue;
    if (frame.functionName === '(idle)') {
      idle += time;
      continue;
    }
    busy += time;
    const name = `${frame.functionName || '(anonymous)'}${placeOf(frame.url)}`;
    times.set(name, (times.get(name) ?? 0) + time);
  }
  const top = [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, time]) => ({ name, share: time / busy }));
  return { top, idle: idle / (idle + busy) };
}

/** Where a function is defined: a file of this repository, a package, or a module of Node. */
function placeOf(url: string): string {
  if (url === '') return '';
  const path = url.startsWith('file:') ? relative(repositoryRoot, fileURLToPath(url)) : url;
  const packaged = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
  return ` (${packaged?.[1] ?? path})`;
}
