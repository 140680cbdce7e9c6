import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';

/** Lines of a function: what fits on one screen, and what nothing may exceed. */
const usual = 60;
const most = 100;

/** Functions of more than the usual length, and why a part of them alone would be harder to read. */
const reasons: Readonly<Record<string, string>> = {
  'common/objects/file-system/file-system-store.ts createFileSystemStore': 'one entry an operation',
  'common/objects/s3/s3-store.ts createS3Store': 'one entry an operation',
  'common/catalogue/migrations/metadata-tables.ts statements': 'one entry a table',
  'console/web/files/files-page.tsx FilesPage': 'the parts of a page, in its order',
  'console/web/projects/field-dialog.tsx FieldDialog': 'the fields of a form, in its order',
  'console/web/projects/projects-page.tsx ProjectsPage': 'the parts of a page, in its order',
  'console/web/projects/space-dialog.tsx SpaceDialog': 'the fields of a form, in its order',
  'console/web/projects/structure-page.tsx StructurePage': 'the parts of a page, in its order',
  'console/web/records/filter-cell.tsx FilterCell': 'one input, with all its keys',
  'console/web/records/record-form-view.tsx RecordFormView': 'a form: its state, its refusals, its fields',
  'console/web/records/records-table.tsx RecordsTable': 'the parts of a page, in its order',
  'console/web/records/summary-fields.tsx SummaryFields': 'the fields of a form, in its order',
  'console/web/usage/bar-chart.tsx Bars': 'one picture: its scale, lines, bars and labels',
  'gateway/gateway-service.ts openGateway': 'the wiring of a service',
  'query/query-parts.ts queryParts': 'the wiring of a service',
  'query/input/options-schema.ts optionsSchema': 'one schema, a key a line',
  'query/records/record-inserts.ts #storeAll': 'an insert, step by step, over one state',
  'query/space/open-space.ts createOpenSpace': 'a lookup, with its ways to fail',
  'query/records/store/change-commit.ts createChangeCommit': 'one statement, and what becomes of its failure',
  'query/records/store/statement-writes.ts createStatementWrites': 'one entry a kind of write',
};

interface Measured {
  /** Its file and its name. */
  readonly name: string;
  readonly lines: number;
}

const root = join(import.meta.dirname, '../..');
const long = ['cli', 'common', 'console', 'events', 'gateway', 'load', 'query']
  .flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[]).map((name) => join(folder, name)),
  )
  .filter((file) => /\.tsx?$/.test(file) && !file.includes('/dist/'))
  .flatMap(functionsOf)
  .filter(({ lines }) => lines > usual);

/** The functions of a file, also those inside others. */
function functionsOf(file: string): Measured[] {
  const text = readFileSync(join(root, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Measured[] = [];
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const named = node.name ?? (node.parent as { readonly name?: ts.Node }).name;
      const lines = lineAt(node.end) - lineAt(node.getStart(source)) + 1;
      found.push({ name: `${file} ${named?.getText(source) ?? '(anonymous)'}`, lines });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

t.test('a function fits on one screen, or there is a reason', async (t) => {
  t.strictSame(
    long.filter(({ lines }) => lines > most),
    [],
  );
  t.strictSame(
    long.filter(({ name }) => reasons[name] === undefined),
    [],
  );
});

t.test('a function that became short needs no reason any more', async (t) => {
  const names = long.map(({ name }) => name);
  t.strictSame(
    Object.keys(reasons).filter((name) => !names.includes(name)),
    [],
  );
});
