/**
 * Goes on with a value: at once when it is there, so that what takes no wait costs no promise. What `next` throws is thrown
 * then, and else rejected with.
 */
export function continueWith<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
