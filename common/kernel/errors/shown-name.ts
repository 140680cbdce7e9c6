const longest = 100;

/** A name from a client as it is shown in a message: quoted, and cut when it is very long. */
export function shownName(name: string): string {
  return name.length > longest ? `'${name.slice(0, longest)}…'` : `'${name}'`;
}
