const longest = 100;

/** A client's name as a message shows it: quoted, and truncated if it is very long. */
export function shownName(name: string): string {
  return name.length > longest ? `'${name.slice(0, longest)}…'` : `'${name}'`;
}
