/** The command beside a new token: it was an upload, which many tokens are refused. */
import t from 'tap';
import { firstCommand } from '#console/web/tokens/first-command.ts';

const base = 'https://api.example.com';
const commandOf = (grants: Parameters<typeof firstCommand>[1]) =>
  firstCommand('sluice_x', grants, base)?.command;

t.test('a token that may upload, to its project', async (t) => {
  t.match(commandOf({}), / https:\/\/api\.example\.com\/_f_\/demo\/upload$/);
  t.match(commandOf({ projects: ['shop'] }), /\/_f_\/shop\/upload$/);
  t.match(commandOf({ spaces: ['orders'], may: ['files:write'] }), /upload$/);
});

t.test('a token that may not', async (t) => {
  t.match(
    commandOf({ projects: ['shop'], spaces: ['orders'] }),
    /use-pre-stored-structure: true' 'https:\/\/api\.example\.com\/shop\/orders\?\$limit=1'$/,
    'a token for record spaces reaches no files',
  );
  t.match(commandOf({ projects: ['shop'], may: ['find', 'files:read'] }), /\/_f_\/shop$/);
  t.equal(commandOf({ may: ['find'] }), undefined, 'no space is known');
  t.equal(commandOf({ projects: ['shop'], spaces: ['orders'], may: ['usage'] }), undefined);
});

t.test('a token of web pages is refused without their origin', async (t) => {
  t.equal(
    commandOf({ publishable: true, origins: [base], projects: ['shop'], spaces: ['orders'] }),
    undefined,
  );
});
