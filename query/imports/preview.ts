import { invalidBody } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { unescapeFormula } from '../sql/export-columns.ts';
import { inferStructure } from '../structure/infer-structure.ts';
import { isObject } from '../structure/is-object.ts';
import type { SpacePath, Structure } from '../structure/structure.ts';
import { isJsonNumber } from './cell-values.ts';
import { CsvRecords } from './csv-records.ts';
import { FileProblem } from './file-problem.ts';
import { type FileReading, FileRecords, type RecordProblem } from './file-records.ts';
import { textOf } from './file-text.ts';
import { jsonRecords } from './json-records.ts';

/** Records that are looked at. */
const previewed = 1000;

/** What the first records of a file say. */
export interface Preview {
  readonly records: number;
  readonly problems: readonly RecordProblem[];
}

/** Reads the first records of a file by a structure. */
export async function previewOf(path: string, structure: Structure, reading: FileReading): Promise<Preview> {
  const problems: RecordProblem[] = [];
  const file = new FileRecords(structure, reading, (problem) => void problems.push(problem));
  let records = 0;
  await eachOf(path, problems, (text, isLast) => {
    for (const _ of file.read(text, isLast)) if (++records === previewed) return false;
    return true;
  });
  return { records, problems };
}

/** The structure that the first records of a file have. Throws a 400 where they say of none. */
export async function structureIn(path: string, place: SpacePath, reading: FileReading): Promise<Structure> {
  const columns = new Map<string, Types>();
  const problems: RecordProblem[] = [];
  const note = (name: string, value: unknown): void => {
    const types = columns.get(name) ?? new Types();
    columns.set(name, types);
    types.note(value);
  };
  let records = 0;
  const isEnough = (): boolean => ++records > previewed;
  const { format } = reading;
  if (format === 'csv') {
    if (!reading.hasHeader) throw invalidBody('Without names in its first line a file says of no structure');
    const csv = new CsvRecords(reading);
    let header: readonly string[] | null = null;
    await eachOf(path, problems, (text, isLast) => {
      for (const { cells } of csv.read(text, isLast)) {
        const names: readonly string[] = header ?? namesIn(cells, reading);
        for (const [index, name] of names.entries())
          note(name, header === null ? null : cellValue(cells[index] ?? null));
        header = names;
        if (isEnough()) return false;
      }
      return true;
    });
  } else {
    const json = jsonRecords(format, reading);
    await eachOf(path, problems, (text, isLast) => {
      for (const { value } of json.read(text, isLast)) {
        if (isObject(value)) for (const [name, one] of Object.entries(value)) note(name, one);
        if (isEnough()) return false;
      }
      return true;
    });
  }
  if (problems.length > 0) throw invalidBody(`The file can not be read: ${problems[0]?.reason}`);
  return inferStructure(
    Object.fromEntries([...columns].map(([name, types]) => [name, types.sample()])),
    place,
  );
}

function namesIn(cells: readonly (string | null)[], { unescapesFormulas }: FileReading): readonly string[] {
  const trimmed = cells.map((cell) => cell?.trim() ?? '');
  const names = unescapesFormulas ? trimmed.map(unescapeFormula) : trimmed;
  if (names.includes(''))
    throw invalidBody('The first line of the file should name its columns, and one has no name');
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalidBody(`The first line of the file names ${shownName(twice)} twice`);
  return names;
}

/** @param read answers whether it wants more */
async function eachOf(
  path: string,
  problems: RecordProblem[],
  read: (text: string, isLast: boolean) => boolean,
): Promise<void> {
  try {
    for await (const { text, isLast } of textOf(path, Number.MAX_SAFE_INTEGER))
      if (!read(text, isLast)) return;
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    problems.push({ line: error.line, field: null, reason: error.message });
  }
}

/** A value of each type, the likeliest first: a column is of the first one that all of its values have. */
const samples = [0, true, [], {}, ''] as const;

/** The types that all values of a column have. */
class Types {
  readonly #left = new Set<string>();
  #isBegun = false;

  note(value: unknown): void {
    if (value === null || value === undefined) return;
    const kind = kindOf(value);
    if (!this.#isBegun) this.#left.add(kind);
    else if (!this.#left.has(kind)) this.#left.clear();
    this.#isBegun = true;
  }

  /** A value of the type; without values, and of several types, it is text. */
  sample(): unknown {
    return samples.find((sample) => this.#left.has(kindOf(sample))) ?? '';
  }
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

/** What a cell would be by its look. */
function cellValue(cell: string | null): unknown {
  if (cell === null || cell === '') return null;
  if (isJsonNumber(cell)) return 0;
  if (/^(?:true|false)$/i.test(cell)) return true;
  if (!/^[[{]/.test(cell)) return cell;
  try {
    return JSON.parse(cell) as unknown;
  } catch {
    return cell;
  }
}
