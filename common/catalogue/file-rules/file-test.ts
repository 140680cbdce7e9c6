import { type FileComparison, type FileCondition, type FileField, optionalFields } from './file-rules.ts';
import { type FileValue, fileOperators } from './operators.ts';

/** The facts about a file that rules compare. */
export interface RuledFile {
  readonly id: string;
  readonly name: string;
  readonly originalName: string;
  readonly contentType: string;
  /** Undefined: its bytes have not arrived yet. */
  readonly size: number | undefined;
  /** Absent: it was uploaded for no user. */
  readonly owner?: string | undefined;
  /** Absent: it is in none. */
  readonly folder?: string | undefined;
  readonly createdAt: Date;
}

/** Whether a file meets a condition without variables. Undefined: that depends on its size, which is not known yet. */
export function meets(condition: FileCondition, file: RuledFile): boolean | undefined {
  if (!('group' in condition)) return compared(condition, file);
  const { group, branches } = condition;
  const results = branches.map((branch) => meets(branch, file));
  const decisive = group !== 'all';
  if (results.includes(decisive)) return group === 'any';
  return results.includes(undefined) ? undefined : group !== 'any';
}

function compared({ field, operator, values }: FileComparison, file: RuledFile): boolean | undefined {
  const value = valueIn(file, field);
  const hasValue = value !== undefined || !optionalFields.has(field);
  if (operator === 'exists') return hasValue === (values[0] === 1);
  if (value === undefined) return hasValue ? undefined : false;
  return fileOperators[operator].test(value, values);
}

export function valueIn(file: RuledFile, field: FileField): FileValue | undefined {
  return field === 'createdAt' ? file.createdAt.getTime() : file[field];
}
