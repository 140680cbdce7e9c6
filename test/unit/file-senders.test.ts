/** Which requests for files rules bind, and to which user. */
import t from 'tap';
import type { Principal } from '#auth/authenticate.ts';
import { FileSenders } from '#auth/file-senders.ts';
import type { FileRules } from '#catalogue/file-rules/file-rules.ts';
import type { Grants } from '#kernel/grants.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { fakeRequest } from '../services/fake-request.ts';

const { signal } = new AbortController();
const allow = { upload: null, read: null, list: null, delete: null };
const rules: FileRules = { given: {}, users: 'people', allow, maxBytes: null, types: null };
const projectId = uuidV5('owner', 'app');
const spaceId = uuidV5('owner', 'app', 'people');
const publishable: Grants = { publishable: true, origins: ['*'] };

function open({ grants, fileRules = rules }: { grants?: Grants; fileRules?: FileRules | null } = {}) {
  const seen = { projects: 0, admitted: [] as string[], asked: [] as string[] };
  const principal: Principal = { userId: 'owner', tokenId: 't', ...(grants && { grants }) };
  const senders = new FileSenders({
    authenticate: () =>
      grants === undefined ? principal : { ...principal, admit: (sender) => void seen.admitted.push(sender) },
    projects: {
      async find(ownerId, slug) {
        seen.projects++;
        const project = { id: uuidV5(ownerId, slug), ownerId, slug };
        return fileRules === null ? project : { ...project, fileRules };
      },
    },
    loginTokens: {
      verify: async (token) =>
        token === 'bad'
          ? null
          : { projectId, spaceId: token === 'other' ? 'other' : spaceId, recordId: token },
    },
  });
  const send = async (headers: Record<string, string>) =>
    senders.authenticate({
      ...fakeRequest({ headers, params: { project: 'app' } }),
      needs: { grant: 'files:read', touches: 'beside spaces' },
    });
  return { senders, seen, send, principal };
}

t.test('a request with a secret token is not bound, and reads nothing', async (t) => {
  const { send, seen, principal } = open();
  t.equal(await send({ token: 'ada' }), principal, 'the same object');
  t.equal(await send({ 'sluice-act-as-user': 'false' }), principal);
  t.equal(seen.projects, 0);
  await t.rejects(send({ 'sluice-act-as-user': 'yes' }), { code: 'invalid_header' });
});

t.test('a publishable token, and a server for a user, are bound', async (t) => {
  const { send, seen } = open({ grants: publishable });
  t.strictSame((await send({ token: 'ada' })).bound, { user: 'ada', rules });
  t.strictSame((await send({})).bound, { user: null, rules });
  await t.rejects(send({ token: 'bad' }), { code: 'unauthorized' });
  await t.rejects(send({ token: 'other' }), { code: 'unauthorized' }, 'of another space');
  t.strictSame(seen.admitted, ['user ada', '192.0.2.1', '192.0.2.1', '192.0.2.1'], 'each is counted once');
  const server = open();
  t.strictSame((await server.send({ 'sluice-act-as-user': 'true', token: 'ada' })).bound, {
    user: 'ada',
    rules,
  });
});

t.test('without rules nobody gets anything, whoever it is', async (t) => {
  const { send, senders, seen } = open({ grants: publishable, fileRules: null });
  for (const headers of [{}, { token: 'ada' }, { token: 'bad' }])
    await t.rejects(send(headers), { code: 'not_allowed' });
  t.equal(seen.admitted.length, 3, 'refused requests count');
  await t.rejects(senders.boundAs('owner', 'app', null, signal), { code: 'not_allowed' });
});

t.test('a user who was deleted is none', async (t) => {
  const { send, senders } = open({ grants: publishable });
  const users: unknown[] = [];
  senders.askForUsers(async (user) => {
    users.push(user);
    return user.id !== 'gone';
  });
  await t.rejects(send({ token: 'gone' }), { code: 'unauthorized' });
  await t.rejects(senders.boundAs('owner', 'app', 'gone', signal), { code: 'not_allowed' });
  t.strictSame(await senders.boundAs('owner', 'app', 'ada', signal), { user: 'ada', rules });
  t.strictSame(users, [
    { spaceId, id: 'gone', claims: { projectId, spaceId, recordId: 'gone' } },
    ...['gone', 'ada'].map((id) => ({ spaceId, id })),
  ]);
});
