import type { FileRules } from './file-rules.ts';

/** Whether a media type is one of some types, or of their beginnings up to the slash. */
export function isOfTypes(types: readonly string[], contentType: string): boolean {
  return types.some((type) => (type.endsWith('/') ? contentType.startsWith(type) : contentType === type));
}

/** Null: files of the type may be uploaded. */
export function typeProblem({ types }: Pick<FileRules, 'types'>, contentType: string): string | null {
  if (types === null || isOfTypes(types, contentType)) return null;
  return `The rules take files of type ${types.join(', ')}, not ${contentType}`;
}
