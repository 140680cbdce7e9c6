import { textLiteral } from '#engine/literal.ts';

/** The key by which reads of `file_uses` and `file_drops` stick to one of several servers. */
export const home = 'file_uses';
/** Columns of `file_drops`, in the order of a row's values. */
export const dropColumns = ['kind', 'name', 'owner_id', 'project_slug', 'space', 'record', 'token'];
/** Otherwise a DELETE is a mutation, which waits for merges. */
const deleteSettings = `SETTINGS lightweight_delete_mode = 'lightweight_update_force'`;

export function deleteSql(table: string, where: string): string {
  return `DELETE FROM ${table} WHERE ${where} ${deleteSettings}`;
}

export function isAmong(column: string, texts: readonly string[]): string {
  return texts.length === 0 ? '0' : `${column} IN (${[...new Set(texts)].map(textLiteral).join(', ')})`;
}

/** By the clock of the engine. @param seconds of age */
export function olderThan(seconds: number): string {
  return `(at < now64(3) - INTERVAL ${seconds} SECOND)`;
}
