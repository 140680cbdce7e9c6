/**
 * The size of an `LRUCache` that allocates as it grows. With `max` it would allocate all of its slots up front: a hundred
 * thousand add some 20 milliseconds to every start.
 */
export function upTo(count: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 };
}
