const systemSlugs: readonly string[] = ['id'];

/**
 * The slug that a field gets from its name, in whatever way it is made. A name in camel case gets that of the published
 * client: `firstName` becomes `first-name`. Where it has spaces, or begins with a capital, as a column of a table, its
 * words are joined in lower case: `Order No` and `OrderNo` become `order-no`. It begins with no dash; empty: no name.
 */
export function slugOfName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '') return '';
  if (/^[^\p{Lu}\p{Lt}\s-]\S*$/u.test(trimmed)) return trainCase(trimmed);
  const words = /\s/.test(trimmed) ? trimmed : trimmed.replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, '-');
  const slug = joinedSlug(words).replace(/^-+/, '') || 'field';
  return systemSlugs.includes(slug) ? `${slug}-2` : slug;
}

/** As the published client makes slugs of fields. */
export function trainCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** In lower case, as the published client writes slugs of record spaces, and without spaces, which addresses would escape. */
export function joinedSlug(name: string): string {
  return name.trim().toLowerCase().replace(/\s+/g, '-');
}
