/**
 * Letters that differ in nothing but case, by Unicode's simple case folding (C and S of CaseFolding.txt), as the flags `i`
 * and `u` of a regular expression compare them. Every code point stands for itself or for one other.
 */

/** No letter beyond these two planes has case. */
const planes = [
  [0, 0xd7ff],
  [0xe000, 0x1ffff],
] as const;
const isAscii = /^[\0-\x7f]*$/;
const cased = /[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/gu;

let known: ReadonlyMap<string, readonly string[]> | undefined;

/** The forms of a letter. They are found when the first is needed, which takes about a tenth of a second. */
function formsOf(char: string): readonly string[] {
  known ??= equalLetters();
  return known.get(char) ?? [char];
}

/** The text with every letter in the form that stands for all of its forms: of A to Z the small one. */
export function fold(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  return Array.from(text, (char) => {
    const forms = formsOf(char);
    return forms.find((form) => form >= 'a' && form <= 'z') ?? (forms[0] as string);
  }).join('');
}

/** Forms other than A to Z that `fold` replaces, with their replacements, for the letters of a folded text. */
export function variantsIn(folded: string): ReadonlyMap<string, string> {
  const variants = new Map<string, string>();
  for (const char of folded)
    for (const form of formsOf(char))
      if (form !== char && (form < 'A' || form > 'Z')) variants.set(form, char);
  return variants;
}

/** For each letter with case, the letters that a case-insensitive regular expression treats as equal. */
function equalLetters(): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  const byMapping = new Map<string, Set<string[]>>();
  for (const char of casedLetters()) {
    const same = new RegExp(`^${char}$`, 'iu');
    // equal ones have a full mapping in common: https://www.unicode.org/reports/tr44/#CaseFolding.txt
    const mappings = [char.toUpperCase(), char.toLowerCase(), char.toUpperCase().toLowerCase()];
    const near = mappings.flatMap((mapping) => [...(byMapping.get(mapping) ?? [])]);
    const group = near.find(([first]) => same.test(first as string)) ?? [];
    group.push(char);
    groups.set(char, group);
    for (const mapping of mappings) byMapping.set(mapping, (byMapping.get(mapping) ?? new Set()).add(group));
  }
  return groups;
}

function casedLetters(): readonly string[] {
  const letters: string[] = [];
  for (const [first, last] of planes) {
    const all: string[] = [];
    for (let point = first; point <= last; point++) all.push(String.fromCodePoint(point));
    letters.push(...(all.join('').match(cased) ?? []));
  }
  return letters;
}
