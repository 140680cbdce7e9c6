const systemSlugs: readonly string[] = ['id'];

/**
 * The slug of a field, from its name. A name in camel case gets the slug that the published client makes: `firstName`
 * becomes `first-name`. The words of a name with spaces or a leading capital, such as a column of a table, are joined in
 * lower case: `Order No` and `OrderNo` become `order-no`. A slug never begins with a dash; empty: there is no name.
 */
export function slugOfName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '') return '';
  if (/^[^\p{Lu}\p{Lt}\s-]\S*$/u.test(trimmed)) return trainCase(trimmed);
  const words = /\s/.test(trimmed) ? trimmed : trimmed.replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, '-');
  const slug = joinedSlug(words).replace(/^-+/, '') || 'field';
  return systemSlugs.includes(slug) ? `${slug}-2` : slug;
}

/** The slug of a field, as the published client makes it. */
export function trainCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Joins words in lower case, like the published client's slugs of record spaces, and without spaces, which URLs escape. */
export function joinedSlug(name: string): string {
  return name.trim().toLowerCase().replace(/\s+/g, '-');
}
