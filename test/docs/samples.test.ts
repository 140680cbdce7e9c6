/**
 * The samples of README.md, docs/api.md and docs/uploads.md, as a reader would copy them. A shell sample whose next block is
 * JSON has that answer, where `…` stands for anything. TypeScript samples of a page are one program: it compiles under
 * `strict`, and runs twice.
 */
import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import ts from 'typescript';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const shownUrl = 'http://127.0.0.1:8080';

interface Block {
  readonly language: string;
  readonly text: string;
}

async function blocksOf(page: string): Promise<readonly Block[]> {
  const text = await readFile(join(root, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1] as string,
    text: match[2] as string,
  }));
}

/** Lines that begin so are for an operator's shell, and are tried by other tests. */
const notRequests = /^(?:npm|npx|docker|export TOKEN=|$)/;

/** Whether an answer is the shown one. The shown text may break lines anywhere, and `…` stands for anything. */
function isAnswer(shown: unknown, found: unknown): boolean {
  if (typeof shown === 'string') {
    if (typeof found !== 'string') return false;
    const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('[\\s\\S]*')}$`).test(found);
  }
  if (typeof shown !== 'object' || shown === null) return shown === found;
  if (typeof found !== 'object' || found === null) return false;
  const keys = Object.keys(shown);
  return (
    keys.length === Object.keys(found).length &&
    keys.every((key) => isAnswer(shown[key as keyof typeof shown], found[key as keyof typeof found]))
  );
}

for (const page of ['README.md', 'docs/api.md', 'docs/uploads.md']) {
  t.test(page, async (t) => {
    const folder = await temporaryFolder(t);
    const sluice = await sluiceFor(t);
    await writeFile(join(folder, 'photo.jpg'), Buffer.alloc(48_213));
    await run('npm', ['init', '-y'], { cwd: folder });
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const env = { PATH: process.env.PATH ?? '', HOME: folder, TOKEN: sluice.token };
    const here = (text: string): string => text.replaceAll(shownUrl, sluice.baseUrl);
    const blocks = await blocksOf(page);

    // `ID=…` in a sample is the last id that an answer had
    const last = { ID: '', LOGIN_TOKEN: '', NAME: '' };
    for (const round of ['once', 'and again']) {
      for (const [index, { language, text }] of blocks.entries()) {
        if (language !== 'sh' || text.split('\n').every((line) => notRequests.test(line))) continue;
        const filled = here(text).replace(/^(ID|LOGIN_TOKEN|NAME)=….*$/gm, (_, name: keyof typeof last) => {
          return `${name}='${last[name]}'`;
        });
        const { stdout } = await run('bash', ['-euc', filled], { cwd: folder, env });
        const next = blocks[index + 1];
        if (next?.language !== 'json') continue;
        const answer: unknown = JSON.parse(stdout);
        const shown: unknown = JSON.parse(here(next.text));
        t.ok(isAnswer(shown, answer), `${round}: ${text.split('\n').at(-2)}`, { shown, answer });
        const record = (Array.isArray(answer) ? answer[0] : answer) as Record<string, string> | null;
        last.ID = record?.id ?? last.ID;
        last.LOGIN_TOKEN = record?.token ?? last.LOGIN_TOKEN;
        last.NAME = record?.name !== undefined && record._id !== undefined ? record.name : last.NAME;
      }
    }

    const program = blocks.filter(({ language }) => language === 'ts').map(({ text }) => here(text));
    if (program.length === 0) return;
    const file = join(folder, 'people.mts');
    await writeFile(file, program.join('\n'));
    const compiled = ts.createProgram([file], {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      skipLibCheck: true,
    });
    t.strictSame(
      ts
        .getPreEmitDiagnostics(compiled)
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
      [],
    );
    for (const _round of [1, 2]) {
      const { stdout } = await run(process.execPath, ['--import', 'tsx', file], { cwd: folder, env });
      t.match(stdout, /Ada/);
    }
  });
}
