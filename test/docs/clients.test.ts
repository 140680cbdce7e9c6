/** The programs of docs/clients.md on clients that real generators make: checked strictly, and run. */
import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { installPython } from '../services/python-packages.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/clients.md'), 'utf8');
const versions = ['3.0', '3.1'] as const;
const python = await installPython(['openapi-python-client==0.29.1', 'mypy==2.4.1']);
if (python === null)
  t.comment('NOT TESTED with openapi-python-client: it takes Python 3 with pip to install it.');

/** What every program prints. */
const expected = /^hello\.txt\n\[ ?'Ada' ?\]\ninvalid_value\n$/;

/** The program of a section. */
function programOf(title: string, { baseUrl }: Sluice): string {
  const section = page.split('\n## ').find((text) => text.startsWith(title)) ?? '';
  const [, program = ''] = /^```(?:ts|python)\n([\s\S]*?)^```$/m.exec(section) ?? [];
  return program.replaceAll('http://127.0.0.1:8080', baseUrl);
}

/** A folder with the description as openapi.json, and the server that answered it. */
async function described(t: Test, version: string): Promise<{ sluice: Sluice; folder: string }> {
  const sluice = await sluiceFor(t);
  const folder = await temporaryFolder(t);
  const answer = await fetch(`${sluice.baseUrl}/openapi.json?version=${version}`);
  await writeFile(join(folder, 'openapi.json'), await answer.text());
  return { sluice, folder };
}

const typescript = [
  { title: 'TypeScript: @hey-api', bin: 'openapi-ts', args: ['-i', 'openapi.json', '-o', 'sluice'] },
  {
    title: 'TypeScript: openapi-typescript',
    bin: 'openapi-typescript',
    args: ['openapi.json', '-o', 'sluice.ts'],
  },
];
const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
  target: 'ES2022',
  module: 'ESNext',
  moduleResolution: 'bundler',
  types: ['node'],
};

for (const { title, bin, args } of typescript) {
  for (const version of versions) {
    t.test(`${title}, OpenAPI ${version}`, async (t) => {
      const { sluice, folder } = await described(t, version);
      const modules = bin === 'openapi-ts' ? 'test/docs/node_modules' : 'node_modules';
      await symlink(join(root, modules), join(folder, 'node_modules'));
      await writeFile(join(folder, 'package.json'), '{"type":"module"}');
      await writeFile(join(folder, 'main.ts'), programOf(title, sluice));
      await writeFile(
        join(folder, 'tsconfig.json'),
        JSON.stringify({
          include: ['main.ts'],
          compilerOptions: { ...compilerOptions, typeRoots: [join(root, 'node_modules/@types')] },
        }),
      );
      await run(join(folder, 'node_modules/.bin', bin), args, { cwd: folder });
      await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch(({ stdout }) => t.fail(stdout));
      const env = { PATH: process.env.PATH, TOKEN: sluice.token };
      const tsx = join(root, 'node_modules/tsx/dist/loader.mjs');
      const { stdout } = await run(process.execPath, ['--import', tsx, 'main.ts'], { cwd: folder, env });
      t.match(stdout, expected);
    });
  }
}

for (const version of versions) {
  t.test(`openapi-python-client, OpenAPI ${version}`, { skip: python === null }, async (t) => {
    const { sluice, folder } = await described(t, version);
    await writeFile(join(folder, 'main.py'), programOf('Python', sluice));
    const env = { PATH: `${python}/bin:${process.env.PATH}`, PYTHONPATH: python ?? '', TOKEN: sluice.token };
    const options = { cwd: folder, env };
    const made = ['--path', 'openapi.json', '--meta', 'none', '--output-path', 'sluice'];
    await run('python3', ['-m', 'openapi_python_client', 'generate', ...made], options);
    // its own code is not strict everywhere
    const check = ['-m', 'mypy', '--strict', '--follow-imports=silent', 'main.py'];
    await run('python3', check, options).catch(({ stdout }) => t.fail(stdout));
    const { stdout } = await run('python3', ['main.py'], options);
    t.match(stdout, expected);
  });
}
