import type { TargetAddress, TargetKind } from './target.ts';

/** The kinds of servers. Each is loaded when a run needs it. */
const kinds: Readonly<Record<string, () => Promise<TargetKind>>> = {
  sluice: async () => (await import('./sluice.ts')).sluice,
  pocketbase: async () => (await import('./pocketbase.ts')).pocketbase,
  parse: async () => (await import('./parse.ts')).parse,
  s3: async () => (await import('./s3.ts')).s3,
  tus: async () => (await import('./tus.ts')).tus,
  http: async () => (await import('./http.ts')).http,
};

export const kindNames = Object.keys(kinds) as readonly TargetAddress['kind'][];

export async function openKind({ kind, module }: TargetAddress): Promise<TargetKind> {
  if (module !== undefined) return (await import(module)).default;
  const open = kinds[kind];
  if (open === undefined)
    throw new Error(`there is no kind ${kind} of targets, only ${kindNames.join(', ')}`);
  return open();
}
