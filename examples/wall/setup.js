/**
 * Makes the record spaces of the wall and its rules, and writes config.js for the page:
 * TOKEN=secret PAGE_TOKEN=publishable node examples/wall/setup.js [server]
 */
import { writeFile } from 'node:fs/promises';

const server = process.argv[2] ?? 'http://127.0.0.1:8080';
const { TOKEN, PAGE_TOKEN } = process.env;
if (!TOKEN || !PAGE_TOKEN) {
  console.error(
    'Set TOKEN and PAGE_TOKEN to the two access tokens of the server (docs/tutorial.md, step 1).',
  );
  process.exit(1);
}
const client = await import('../../client/dist/sluice-client.js');
const { connect, setRules, setStructure } = client;
const { spacesOf } = await import('./spaces.js');

const db = connect({ url: server, token: TOKEN, project: 'wall' });
const { users, posts } = spacesOf(client);

// logins are renewed for 30 days
await setStructure(db, users, { authOptions: { active: false, sessionSeconds: 30 * 24 * 3600 } });
await setStructure(db, posts);

const own = { owner: '$user.id' };
// anybody may sign up; users see themselves
await setRules(db, users, { find: { id: '$user.id' }, insert: true });
// everybody sees all posts; users write posts of their own, and delete them
await setRules(db, posts, {
  ...{ find: true, insert: own, delete: own },
  set: { owner: '$user.id', author: '$user.name' },
});
// the same for files: photos and videos of up to 100 MB; for larger ones, raise MAX_UPLOAD_BYTES of the server as well
await setRules(db, 'files', {
  ...{ read: true, list: own, upload: own, delete: own },
  ...{ types: ['image/', 'video/'], maxBytes: 1e8 },
});

const config = { server, token: PAGE_TOKEN };
await writeFile(new URL('config.js', import.meta.url), `export default ${JSON.stringify(config)};\n`);
console.log(`The wall is set up on ${server}.`);
