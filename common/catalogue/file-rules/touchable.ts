import { notAllowed } from '#kernel/errors/catalogue.ts';
import { type BoundSender, conditionFor, type FileCondition, type FileOperation } from './file-rules.ts';
import { meets, type RuledFile } from './file-test.ts';

/**
 * The condition of an operation for a sender, without variables; undefined: rules do not bind the sender. Throws 403 if the
 * rules allow nobody.
 */
export function requiredFor(
  bound: BoundSender | undefined,
  operation: FileOperation,
): FileCondition | undefined {
  if (bound === undefined) return undefined;
  const condition = conditionFor(bound, operation);
  if (condition === null) throw notAllowed(`The rules of the project's files let nobody ${operation} files`);
  return condition;
}

const always = (): boolean => true;

/** Decides which stored files a sender may touch by all of the operations. Throws 403 if the rules allow nobody. */
export function touchable(
  bound: BoundSender | undefined,
  ...operations: readonly FileOperation[]
): (file: RuledFile) => boolean {
  if (bound === undefined) return always;
  const conditions = operations.map((operation) => requiredFor(bound, operation) as FileCondition);
  return (file) => conditions.every((condition) => meets(condition, file) === true);
}
