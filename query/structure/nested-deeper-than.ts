/**
 * Whether a parsed JSON value has more levels of arrays and objects than `levels`. What JSON.parse takes may be nested
 * deeper than the stack that JSON.stringify needs for it, so that is asked first. Goes no deeper than `levels` itself.
 */
export function nestedDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => nestedDeeperThan(item, levels - 1));
}
