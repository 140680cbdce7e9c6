/** Throws unless the key is a relative path of plain segments. We make the keys, so a bad key is a bug. */
export function assertObjectKey(key: string): void {
  const problem = key === '' ? 'it is empty' : pathProblem(key.split('/'));
  if (problem !== null) throw new Error(`bad object key ${JSON.stringify(key)}: ${problem}`);
}

/** Like assertObjectKey for a prefix of a key, which may be empty, or end with a `/` or inside a segment. */
export function assertKeyPrefix(prefix: string): void {
  const segments = prefix.split('/');
  if (segments.at(-1) === '') segments.pop();
  const problem = pathProblem(segments);
  if (problem !== null) throw new Error(`bad object key prefix ${JSON.stringify(prefix)}: ${problem}`);
}

function pathProblem(segments: readonly string[]): string | null {
  for (const segment of segments) {
    if (segment === '') return 'it has an empty segment';
    if (segment === '.' || segment === '..') return `it has the segment ${segment}`;
    if (segment.includes('\0') || segment.includes('\\')) return 'it has a NUL or a backslash';
  }
  return null;
}
