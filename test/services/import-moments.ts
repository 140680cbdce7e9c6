/** Moments of an import at which kill-preload.ts kills its process, in their order. */
export const importMoments = [
  'before running',
  'after running',
  'staging',
  'before held',
  'held',
  'before publishing',
  'after publishing',
  'attaching',
  'before done',
  'after done',
  'freed',
] as const;
export type ImportMoment = (typeof importMoments)[number];
