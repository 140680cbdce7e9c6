/**
 * JSON text that is equal for equal values, with the keys of objects sorted as answers show them. Null when a value is
 * none that a record may have: a number beyond a double.
 */
export function canonicalText(value: unknown): string | null {
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = Array.isArray(value)
    ? value.map(canonicalText)
    : Object.keys(value)
        .sort()
        .map((key) => {
          const text = canonicalText(ownValue(value, key));
          return text === null ? null : `${JSON.stringify(key)}:${text}`;
        });
  if (parts.includes(null)) return null;
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

/** A property that may be called `__proto__`. */
export function ownValue(object: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}
