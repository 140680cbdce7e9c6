import type { TargetAddress, TargetKind } from './target.ts';

/** Refuses what is no file, for servers that have nothing else. */
export function onlyFiles(server: TargetAddress['kind']): Pick<TargetKind, 'refuses'> {
  return {
    refuses: ({ kind, name }) =>
      kind === 'upload' || kind === 'download'
        ? null
        : `the request ${name} is of the kind ${kind}, and a target of kind ${server} has only files`,
  };
}
