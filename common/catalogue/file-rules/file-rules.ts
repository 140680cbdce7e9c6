import type { FileWebhook } from '#kernel/record-events/file-event.ts';
import type { FileOperatorName, FileValue } from './operators.ts';

/** The operations on files that rules decide (docs/security.md#rules-of-files). */
export const fileOperations = ['upload', 'read', 'list', 'delete'] as const;
export type FileOperation = (typeof fileOperations)[number];

/** The rules of a project's files, as they are stored with the project: as JSON. */
export interface FileRules {
  /** As they were set. */
  readonly given: unknown;
  /** The slug of the record space of the users. */
  readonly users: string;
  /** Null: nobody. */
  readonly allow: Readonly<Record<FileOperation, FileCondition | null>>;
  /** Of an upload; null: MAX_UPLOAD_BYTES. */
  readonly maxBytes: number | null;
  /** How long an upload stays at most. Seconds; null, or absent in older rules: as long as others. */
  readonly expiresIn?: number | null;
  /** Media types, or their beginnings up to the slash; null: any. */
  readonly types: readonly string[] | null;
  /** Absent in rules that an earlier version stored. */
  readonly webhooks?: readonly FileWebhook[];
}

export const fileFields = [
  'id',
  'name',
  'originalName',
  'contentType',
  'size',
  'owner',
  'folder',
  'createdAt',
] as const;
export type FileField = (typeof fileFields)[number];
/** Fields that a file may be without. It then meets no comparison of them. */
export const optionalFields: ReadonlySet<FileField> = new Set(['owner', 'folder']);

/** A tree of comparisons. Any text in it that begins with `$` is a variable. */
export type FileCondition = FileComparison | FileGroup;

export interface FileGroup {
  readonly group: 'any' | 'all' | 'none';
  readonly branches: readonly FileCondition[];
}

export interface FileComparison {
  readonly field: FileField;
  readonly operator: FileOperatorName;
  /** Of `exists`: 1 for true and 0 for false. */
  readonly values: readonly FileValue[];
}

export const everyFile: FileCondition = { group: 'all', branches: [] };
export const noFile: FileCondition = { group: 'any', branches: [] };

/** A request that rules bind: its user, and the rules of the project. */
export interface BoundSender {
  /** Id; null: a stranger. */
  readonly user: string | null;
  readonly rules: FileRules;
}

/** The condition of an operation for a sender, with the values of its variables; null: the rules allow nobody. */
export function conditionFor(
  { user, rules }: BoundSender,
  operation: FileOperation,
  now = Date.now(),
): FileCondition | null {
  const allowed = rules.allow[operation];
  return allowed && filledIn(allowed, { user, now }, false);
}

/**
 * If a variable has no value, neither the comparison nor its opposite matches, as in rules of records.
 * @param negated within an odd number of `$not`
 */
function filledIn(
  condition: FileCondition,
  values: { readonly user: string | null; readonly now: number },
  negated: boolean,
): FileCondition {
  if ('group' in condition) {
    const inner = condition.group === 'none' ? !negated : negated;
    return { ...condition, branches: condition.branches.map((branch) => filledIn(branch, values, inner)) };
  }
  const filled = condition.values.map((value) => {
    if (value === '$now') return values.now;
    return value === '$user.id' ? values.user : value;
  });
  if (filled.includes(null)) return negated ? everyFile : noFile;
  return { ...condition, values: filled as FileValue[] };
}
