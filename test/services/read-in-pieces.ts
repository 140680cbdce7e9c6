interface Reader<Found> {
  read(piece: string, isLast: boolean): Iterable<Found>;
}

/** All that a reader finds in a text which comes in pieces of some lengths, and the rest at once. */
export function readInPieces<Found>(
  reader: Reader<Found>,
  text: string,
  lengths: readonly number[],
): Found[] {
  const found: Found[] = [];
  let at = 0;
  for (const length of lengths) {
    found.push(...reader.read(text.slice(at, at + length), false));
    at += length;
  }
  found.push(...reader.read(text.slice(at), true));
  return found;
}
