/** What compiles with the client and what does not. Each line is compiled by itself. */
import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { right, wrong } from './type-lines.ts';

const folder = join(import.meta.dirname, '../../client/src');
const file = join(folder, 'lines.ts');

const head = `
import * as sluice from './index.ts';
import { aggregate, array, bigint, boolean, connect, count, date, datetime, decimal, deleteMany, deleteOne, exportFile, find, findOne, importFile, inc, insert, integer, live, login, number, object, search, setStructure, space, text, update, updateMany, upsert } from './index.ts';
const db = connect({ url: 'http://127.0.0.1', token: 't', project: 'shop' });
const orders = space('orders', {
  city: text({ required: true }), status: text<'paid' | 'open'>(), amount: number(), place: number({ unique: true }),
  email: text({ unique: true }), tags: array<string[]>(), home: object(), paid: boolean(), secret: text({ hashed: true }),
});
const trips = space('trips', {
  at: datetime({ required: true }), day: date(), seats: integer(), odometer: bigint({ unique: true }), weight: number(),
  price: decimal({ precision: 18, scale: 2 }),
});
const plain = space('plain', { name: text() });
declare function is<Wanted>(value: Wanted): void;
declare const signal: AbortSignal;
declare const id: string;
`;

/** The lines of the source that have errors, from 1, with what is wrong. */
function errorsOf(source: string): Map<number, string> {
  const given = ts.getParsedCommandLineOfConfigFile(
    join(folder, '../tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => {},
    },
  );
  const options = { ...given?.options, noEmit: true, noUnusedLocals: false };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, options.target ?? 99) : getSourceFile(name, ...rest);
  const program = ts.createProgram([file], options, host);
  const problems = ts.getPreEmitDiagnostics(program).map((problem) => {
    const { line } = ts.getLineAndCharacterOfPosition(
      problem.file ?? ts.createSourceFile('', '', 99),
      problem.start ?? 0,
    );
    const text = ts.flattenDiagnosticMessageText(problem.messageText, '\n');
    return [problem.file?.fileName === file ? line + 1 : 0, text] as const;
  });
  return new Map(problems);
}

t.test('right lines compile, and each wrong one does not', (t) => {
  const lines = [...right, ...wrong];
  const source = `${head}${lines.map((line) => `async () => { ${line} };`).join('\n')}`;
  const begin = head.split('\n').length;
  const errors = errorsOf(source);
  t.ok(right.length >= 60 && wrong.length >= 60);
  for (const line of [...errors.keys()].filter((line) => line < begin)) t.fail(errors.get(line) ?? '');
  for (const [index, line] of lines.entries()) {
    const error = errors.get(begin + index);
    if (index < right.length) t.equal(error, undefined, line);
    else t.not(error, undefined, `does not compile: ${line}`);
  }
  t.end();
});
