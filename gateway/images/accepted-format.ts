/** In the order of preference. jpeg: or PNG, where the picture has transparent parts. */
export const variantFormats = ['avif', 'webp', 'jpeg'] as const;
export type VariantFormat = (typeof variantFormats)[number];

/** A weight of 0 refuses a type (RFC 9110 section 12.4.2). */
const refusal = String.raw`;(?:[^,]*;)?\s*q=0(?:\.0{0,3})?\s*(?:[;,]|$)`;
// one expression each: splitting the header of a browser takes longer than the rest of a download
const named = variantFormats.map((format) => ({
  format,
  pattern: new RegExp(String.raw`(?:^|,)\s*image/${format}\s*(?!${refusal})(?:[;,]|$)`, 'i'),
}));

/**
 * The format for an Accept header (RFC 9110 section 12.5.1). Only a type that is named counts: clients that accept
 * everything, such as mail programs, often show neither AVIF nor WebP.
 */
export function acceptedFormat(accept: string | undefined): VariantFormat {
  if (accept === undefined) return 'jpeg';
  for (const { format, pattern } of named) if (pattern.test(accept)) return format;
  return 'jpeg';
}
