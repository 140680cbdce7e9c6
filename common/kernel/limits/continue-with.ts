/**
 * Continues with a value: at once when it is there, without a promise. An error of `next` is thrown then, and otherwise
 * rejects.
 */
export function continueWith<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
