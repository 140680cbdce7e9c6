/** So that it fits in the metadata of an object, beside the name. Bytes, percent-encoded. */
const mostBytes = 900;
const mostSegments = 20;

/** What is wrong with a path below a folder, as the rest of a sentence; null: nothing. */
export function pathProblem(path: string): string | null {
  const segments = path.split('/');
  // relative links could not reach them
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'should have no empty segment, and none that is . or ..';
  if (/[\p{Cc}\\]/u.test(path)) return 'should have no control characters and no backslashes';
  if (!path.isWellFormed()) return 'should be Unicode';
  if (segments.length > mostSegments) return `should have at most ${mostSegments} segments`;
  if (encodeURIComponent(path).length > mostBytes)
    return `should have at most ${mostBytes} bytes, percent-encoded`;
  return null;
}
