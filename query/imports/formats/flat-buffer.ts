/** Reads tables of a FlatBuffer (https://flatbuffers.dev/internals), as far as Arrow's messages need them. */

/** The position of a field's value in a table; 0: the default value. @param field its number in the schema */
export function fieldPosition(bytes: Buffer, table: number, field: number): number {
  const fields = table - bytes.readInt32LE(table);
  const slot = 4 + 2 * field;
  if (slot >= bytes.readUInt16LE(fields)) return 0;
  const offset = bytes.readUInt16LE(fields + slot);
  return offset === 0 ? 0 : table + offset;
}

/** The position of the table or vector that the offset at a position refers to. */
export function referredPosition(bytes: Buffer, position: number): number {
  return position + bytes.readUInt32LE(position);
}
