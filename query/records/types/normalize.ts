/** Normalizations of a TEXT before it is stored and compared, in this order. */
export const normalizations = ['trim', 'lower', 'nfc'] as const;
export type Normalization = (typeof normalizations)[number];

type Steps = readonly Normalization[] | undefined;

/** Lower-casing may undo NFC, but NFC never undoes lower case, so a second pass changes nothing. */
const steps: Readonly<Record<Normalization, (text: string) => string>> = {
  trim: (text) => text.trim(),
  lower: (text) => text.toLowerCase(),
  nfc: (text) => text.normalize('NFC'),
};

export function normalized(text: string, wanted: Steps): string {
  return wanted === undefined ? text : wanted.reduce((value, step) => steps[step](value), text);
}

/** Whether the other field may change values that the first one stored. */
export function normalizesMore(before: Steps, after: Steps): boolean {
  return after?.some((step) => !before?.includes(step)) ?? false;
}

/** A field for parts of its values: the spaces at the ends of those count. */
export function asPart<Of extends { readonly normalize?: Steps }>(field: Of): Of {
  return field.normalize ? { ...field, normalize: field.normalize.filter((step) => step !== 'trim') } : field;
}
