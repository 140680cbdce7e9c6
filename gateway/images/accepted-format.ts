/** In the order of preference. jpeg: or PNG, where the picture has transparent parts. */
export const variantFormats = ['avif', 'webp', 'jpeg'] as const;
export type VariantFormat = (typeof variantFormats)[number];

/**
 * The format for an Accept header (RFC 9110 section 12.5.1). Only a type that is named counts: clients that accept
 * everything, such as mail programs, often show neither AVIF nor WebP.
 */
export function acceptedFormat(accept: string | undefined): VariantFormat {
  const wanted = accept?.toLowerCase() ?? '';
  if (!wanted.includes('image/')) return 'jpeg';
  const named = wanted.split(',').map(readRange);
  return (
    variantFormats.find((format) =>
      named.some(({ type, isRefused }) => type === `image/${format}` && !isRefused),
    ) ?? 'jpeg'
  );
}

function readRange(range: string): { readonly type: string; readonly isRefused: boolean } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  return { type, isRefused: parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter)) };
}
