export const longestSlug = 63;
export const slugPattern = new RegExp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,${longestSlug - 1}}$`);

/**
 * The problem of a slug; null: it is valid. `kind` is the word shown to the client ("project").
 * Names that start with `_` are reserved (`_f_`, `_single_`, `_console_`).
 */
export function slugProblem(kind: string, slug: string): string | null {
  if (slugPattern.test(slug)) return null;
  if (slug === '') return `The ${kind} slug is empty`;
  return (
    `The ${kind} slug ${JSON.stringify(slug.slice(0, 80))} is not valid: ` +
    `use 1 to ${longestSlug} letters, digits, "_" and "-", starting with a letter or a digit`
  );
}

export const longestName = 200;
const controlCharacter = /\p{Cc}/u;
const loneSurrogate = /\p{Surrogate}/u;

/** The problem of a name that a user chose, as the end of a sentence ("is empty"); null: it is valid. */
export function nameProblem(name: string): string | null {
  if (name === '') return 'is empty';
  if (name.length > longestName) return `has more than ${longestName} characters`;
  if (controlCharacter.test(name)) return 'has control characters';
  // invalid UTF-8 becomes U+FFFD
  if (name.includes('\uFFFD') || loneSurrogate.test(name)) return 'is not valid UTF-8';
  return null;
}

/** The problem of a record space's slug, which is any name that is possible in a path. */
export function spaceSlugProblem(slug: string): string | null {
  const problem = slug === '.' || slug === '..' ? 'cannot be part of a path' : nameProblem(slug);
  return problem === null ? null : `The record space slug ${JSON.stringify(slug.slice(0, 80))} ${problem}`;
}
