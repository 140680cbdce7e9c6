import config from './config.js';
import { spacesOf } from './spaces.js';

const client = await import(`${config.server}/_client_/sluice-client.js`);
const { connect, deleteOne, insert, live, login, logout, me, refresh, upload } = client;
const { users, posts } = spacesOf(client);
const db = connect({
  url: config.server,
  token: config.token,
  project: 'wall',
  user: () => localStorage.login,
});

const $ = (selector) => document.querySelector(selector);
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
/** Shows what went wrong, and nothing after a success. */
async function attempt(work) {
  $('[role=alert]').textContent = '';
  try {
    return await work();
  } catch (error) {
    $('[role=alert]').textContent = error.message;
    endLogin(error);
  }
}

// who is logged in

let user = null;

function show(loggedIn) {
  user = loggedIn;
  $('#login').hidden = user !== null;
  $('#user').hidden = user === null;
  $('#user b').textContent = user?.name ?? '';
  showPosts();
  void showStopped();
}

/** Shows the form for another login, if the error says that this one has ended, here or elsewhere. */
function endLogin({ code }) {
  if (code !== 'unauthorized') return;
  delete localStorage.login;
  show(null);
}

/** A login lasts while it is used, up to the 30 days of setup.js. */
async function renew() {
  try {
    if (localStorage.login) localStorage.login = (await refresh(db, users)).token;
    show(await me(db, users));
  } catch (error) {
    // otherwise the server is away, and the token may still be good
    endLogin(error);
    show(null);
  }
}

// another tab logged in or out
addEventListener('storage', ({ key }) => key === 'login' && attempt(async () => show(await me(db, users))));

$('#login').onsubmit = (event) => {
  event.preventDefault();
  const who = Object.fromEntries(new FormData(event.target));
  return attempt(async () => {
    if (event.submitter?.value === 'signUp') await insert(db, users, who);
    const { token, user } = await login(db, users, who);
    localStorage.login = token;
    event.target.reset();
    show(user);
  });
};

$('#logout').onclick = () =>
  attempt(async () => {
    await logout(db, users);
    delete localStorage.login;
    show(null);
  });

// uploads, which resume after a reload

/** Names of files that were not sent completely: the client knows where each of them stopped. All tabs share them. */
const stopped = {
  names: () => JSON.parse(localStorage.stopped ?? '[]'),
  set(name, isStopped) {
    const others = this.names().filter((other) => other !== name);
    localStorage.stopped = JSON.stringify(isStopped ? [...others, name] : others);
  },
};
addEventListener('storage', ({ key }) => key === 'stopped' && showStopped());

/** A tab holds a lock while it sends a file, so the others know that it has not stopped. */
const locks = navigator.locks ?? {
  // pages without HTTPS have no locks
  query: () => Promise.resolve({ held: [] }),
  request: (_name, work) => work(),
};
const lockOf = (name) => `upload ${name}`;

/** Files whose end is awaited, here or in another tab, which may be closed in the middle. */
const awaited = new Set();

async function awaitEnd(name) {
  if (awaited.has(name)) return;
  awaited.add(name);
  await locks.request(lockOf(name), () => awaited.delete(name));
  await showStopped();
}

async function showStopped() {
  const { held } = await locks.query();
  const sent = stopped.names().filter((name) => held.some((lock) => lock.name === lockOf(name)));
  for (const name of sent) void awaitEnd(name);
  const notes = stopped
    .names()
    .filter((name) => !sent.includes(name))
    .map((name) => {
      const forget = () => {
        stopped.set(name, false);
        void showStopped();
      };
      const dismiss = make('button', { className: 'quiet', textContent: 'Dismiss', onclick: forget });
      const file = make('b', { textContent: name });
      return make('li', { className: 'stopped' }, file, ' stopped. Choose it again to continue.', dismiss);
    });
  for (const note of document.querySelectorAll('#uploads .stopped')) note.remove();
  $('#uploads').append(...(user ? notes : []));
}

/** Whether choosing the file again may help: not after a refusal, such as 403 or 413. */
const canResume = ({ status = 0 }) => status < 400 || status > 499 || [401, 408, 409, 429].includes(status);

async function send(file) {
  const bar = make('progress', { max: file.size });
  const cancel = new AbortController();
  const button = make('button', { className: 'quiet', textContent: 'Stop', onclick: () => cancel.abort() });
  const row = make('li', {}, make('b', { textContent: file.name }), bar, button);
  bar.setAttribute('aria-label', file.name);
  $('#uploads').append(row);
  try {
    const onProgress = ({ sent }) => {
      bar.value = sent;
    };
    await locks.request(lockOf(file.name), async () => {
      stopped.set(file.name, true);
      const { name } = await upload(db, file, { onProgress, signal: cancel.signal });
      await insert(db, posts, { file: name });
    });
    stopped.set(file.name, false);
  } catch (error) {
    if (cancel.signal.aborted) return;
    if (!canResume(error)) stopped.set(file.name, false);
    throw error;
  } finally {
    row.remove();
  }
}

$('#files').onchange = (event) =>
  attempt(async () => {
    const files = [...event.target.files];
    event.target.value = '';
    for (const file of files) await send(file);
  }).then(showStopped);

// the wall, which is live

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
let all = [];

function showPosts() {
  $('#empty').hidden = all.length > 0;
  const known = new Map([...$('#posts').children].map((card) => [card.id, card]));
  const cards = all.map((post) => {
    const card = known.get(post.id) ?? cardOf(post);
    card.querySelector('button').hidden = post.owner !== user?.id;
    return card;
  });
  for (const [id, card] of known) if (!all.some((post) => post.id === id)) card.remove();
  // cards that are in place stay, so that no video stops
  cards.forEach((card, place) => {
    const now = $('#posts').children[place];
    if (now !== card) $('#posts').insertBefore(card, now ?? null);
  });
}

function cardOf(post) {
  const { s3Link: src, contentType } = post.file;
  const media = contentType.startsWith('video/')
    ? make('video', { src, controls: true, preload: 'metadata' })
    : make('img', { src, alt: `A photo by ${post.author}`, loading: 'lazy' });
  const remove = make('button', { className: 'quiet', textContent: 'Delete' });
  // its file goes with it
  remove.onclick = () => attempt(() => deleteOne(db, posts, post.id));
  const time = make('time', {
    dateTime: post.createdAt,
    textContent: when.format(new Date(post.createdAt)),
  });
  const about = make('figcaption', {}, make('b', { textContent: post.author }), time, remove);
  return make('figure', { id: post.id }, media, about);
}

async function follow() {
  const began = localStorage.login;
  try {
    for await (const { records } of live(db, posts)) {
      all = [...records.values()].sort((a, b) => b.createdAt.localeCompare(a.createdAt));
      showPosts();
    }
  } catch (error) {
    // the posts stay visible after the login
    if (error.code !== 'unauthorized' || !began) throw error;
    if (localStorage.login === began) endLogin(error);
    await follow();
  }
}

await renew();
setInterval(renew, 3_600_000);
await attempt(follow);
