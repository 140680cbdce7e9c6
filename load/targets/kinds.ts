import type { TargetAddress, TargetKind } from './target.ts';

/** The kinds of servers. Each is loaded when a run needs it. */
const kinds: Readonly<Record<string, () => Promise<TargetKind>>> = {
  sluice: async () => (await import('./sluice.ts')).sluice,
  http: async () => (await import('./http.ts')).http,
};

export const kindNames = Object.keys(kinds) as readonly TargetAddress['kind'][];

export function openKind(name: TargetAddress['kind']): Promise<TargetKind> {
  const open = kinds[name];
  if (open === undefined)
    throw new Error(`there is no kind ${name} of targets, only ${kindNames.join(', ')}`);
  return open();
}
