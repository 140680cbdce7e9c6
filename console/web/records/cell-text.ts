/** The text of a cell: cut, so that a value of a megabyte costs no more than a short one. */
export interface CellText {
  readonly text: string;
  /** The value is longer. */
  readonly cut: boolean;
  /** The address of a file. */
  readonly link?: string;
}

const longest = 120;

export function cellText(value: unknown): CellText | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return cutText(value);
  if (isFile(value)) return { ...cutText(shownName(value)), link: value.s3Link };
  if (Array.isArray(value) && value.length > 0 && value.every(isFile))
    return cutText(value.map(shownName).join(', '));
  if (typeof value === 'object') return nestedText(value);
  return { text: String(value), cut: false };
}

interface FileValue {
  readonly name: string;
  readonly s3Link: string;
}

/** A file as answers have it. An OBJECT may look like one, so its address is checked. */
function isFile(value: unknown): value is FileValue {
  if (typeof value !== 'object' || value === null) return false;
  const { name, s3Link } = value as Partial<FileValue>;
  return typeof name === 'string' && typeof s3Link === 'string' && /^https?:\/\//.test(s3Link);
}

/** The name without the id before it. */
function shownName({ name }: FileValue): string {
  return name.replace(/^[0-9a-f-]{36}_/, '');
}

/** Replaces whitespace by spaces, and does not split surrogate pairs. */
function cutText(text: string): CellText {
  const cut = text.length > longest;
  const shown = cut ? text.slice(0, longest).replace(/[\ud800-\udbff]$/, '') : text;
  return { text: shown.replace(/\s/g, ' '), cut };
}

/** The first characters of the JSON, without serializing the rest. */
function nestedText(value: object): CellText {
  let text = '';
  const write = (part: unknown): void => {
    if (text.length > longest) return;
    if (Array.isArray(part)) {
      text += '[';
      writeAll(part, write);
      text += ']';
    } else if (typeof part === 'object' && part !== null) {
      text += '{';
      writeAll(Object.entries(part), ([key, inner]) => {
        text += `${JSON.stringify(key.slice(0, longest))}:`;
        write(inner);
      });
      text += '}';
    } else {
      text += JSON.stringify(typeof part === 'string' ? part.slice(0, longest + 1) : part);
    }
  };
  const writeAll = <T>(parts: readonly T[], one: (part: T) => void): void => {
    for (const [index, part] of parts.entries()) {
      if (text.length > longest) return;
      if (index > 0) text += ',';
      one(part);
    }
  };
  write(value);
  return cutText(text);
}
