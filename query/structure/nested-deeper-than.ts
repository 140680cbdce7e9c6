/**
 * Whether a parsed JSON value has more levels of arrays and objects than `levels`. JSON.parse takes values that are nested
 * too deep for the stack of JSON.stringify, so this is checked first. Goes no deeper than `levels` itself.
 */
export function nestedDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => nestedDeeperThan(item, levels - 1));
}
