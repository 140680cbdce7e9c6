/**
 * Letters that differ in nothing but case, by Unicode's simple case folding (C and S of CaseFolding.txt), which is what
 * the flags `i` and `u` of a regular expression compare by. Every code point stands for itself or for one other.
 */
export interface CaseVariants {
  /** The text with every letter in the form that stands for all of its forms. */
  fold(text: string): string;
  /** Forms other than A to Z that `fold` replaces, and by what; of the letters of a text that is folded already. */
  variantsIn(folded: string): ReadonlyMap<string, string>;
}

/** No letter beyond these two planes has case. */
const planes = [
  [0, 0xd7ff],
  [0xe000, 0x1ffff],
] as const;
const cased = /[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/gu;

let known: CaseVariants | null = null;

/** Made once, when it is first needed: it takes about a tenth of a second. */
export function caseVariants(): CaseVariants {
  known ??= createCaseVariants();
  return known;
}

function createCaseVariants(): CaseVariants {
  /** Every form to the one that stands for it. */
  const stands = new Map<string, string>();
  const forms = new Map<string, string[]>();
  for (const group of equalLetters()) {
    const lower = group.find((form) => form >= 'a' && form <= 'z');
    const standing = lower ?? (group[0] as string);
    for (const form of group) stands.set(form, standing);
    forms.set(standing, group);
  }
  return {
    fold: (text) => Array.from(text, (char) => stands.get(char) ?? char).join(''),
    variantsIn(folded) {
      const variants = new Map<string, string>();
      for (const char of folded) {
        for (const form of forms.get(char) ?? []) {
          if (form !== char && (form < 'A' || form > 'Z')) variants.set(form, char);
        }
      }
      return variants;
    },
  };
}

/** Groups of code points that a case-insensitive regular expression can't tell apart. */
function equalLetters(): string[][] {
  const candidates = new Map<string, string[]>();
  for (const char of casedLetters()) {
    // equal ones have a full mapping in common: https://www.unicode.org/reports/tr44/#CaseFolding.txt
    for (const key of new Set([char.toUpperCase(), char.toLowerCase(), char.toUpperCase().toLowerCase()])) {
      const list = candidates.get(key) ?? [];
      candidates.set(key, list);
      list.push(char);
    }
  }
  const groups = new Map<string, string[]>();
  for (const list of candidates.values()) {
    for (const [index, char] of list.entries()) {
      const same = new RegExp(`^${char}$`, 'iu');
      for (const other of list.slice(index + 1)) if (same.test(other)) join(groups, char, other);
    }
  }
  return [...new Set(groups.values())];
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

function join(groups: Map<string, string[]>, a: string, b: string): void {
  const first = groups.get(a) ?? [a];
  const second = groups.get(b) ?? [b];
  if (first === second) return;
  const both = [...first, ...second];
  for (const char of both) groups.set(char, both);
}
