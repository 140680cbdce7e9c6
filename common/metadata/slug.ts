export const slugPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/**
 * Says what is wrong with a slug, or null when it may be used. `kind` is the word shown to the client ("project").
 * A slug can't start with `_`: those names are ours (`_f_`, `_single_`, `_console_`).
 */
export function slugProblem(kind: string, slug: string): string | null {
  if (slugPattern.test(slug)) return null;
  if (slug === '') return `The ${kind} slug is empty`;
  return (
    `The ${kind} slug ${JSON.stringify(slug.slice(0, 80))} is not valid: ` +
    'use 1 to 63 letters, digits, "_" and "-", starting with a letter or a digit'
  );
}
