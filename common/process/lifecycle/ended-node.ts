/**
 * The warning at start on Node 20, which is end-of-life and has an older uWebSockets.js binary
 * (docs/decisions/001-uwebsockets-from-npm.md). Empty for later versions.
 * @param version such as 20.19.0
 */
export function endedNode(version: string): readonly string[] {
  if (!version.startsWith('20.')) return [];
  return [
    'Node 20 has had no fixes since April 2026, and its HTTP server is old: a request line in two TCP segments gets ' +
      'a 505, and a header name with _ gets no answer for 10 s; use Node 24',
  ];
}
