import fc from 'fast-check';
import { hostileText } from './hostile-arbitraries.ts';
import { call, structureOf } from './record-client.ts';

/** One of several spaces of several accounts that have equal structures and equal values. */
export interface Place {
  readonly name: string;
  readonly token: string;
  readonly project: string;
}

/** What somebody tries; numbers choose among what there is at that time. */
export interface Attempt {
  readonly place: number;
  readonly operation: (typeof operations)[number];
  /** Whose record, and which of them. */
  readonly of: number;
  readonly record: number;
  /** A value that all places share, or any text. */
  readonly text: string;
  readonly options: string;
}

interface Note {
  readonly id: string;
  readonly text: string;
  readonly mark: string;
}

export const operations = [
  'find',
  'findOr',
  'findById',
  'findOne',
  'search',
  'insertOne',
  'insert',
  'updateOne',
  'updateOneById',
  'delete',
  'clear',
  'hostileSlug',
  'otherStructure',
  'setKeys',
  'login',
  'getTokenOwner',
] as const;
/** Few of these: a space that is cleared all the time has nothing to take, and a login takes time on purpose. */
const seldom = ['clear', 'setKeys', 'login', 'getTokenOwner'] as const;

const sharedTexts = Array.from({ length: 12 }, (_, i) => `equal ${i}`);
const quotes = ["'", '"', '`', '\\', "\\'", "''", '\0', '\n', '--', '/*', '\u2028', '😀', '#'];
const texts = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...sharedTexts) },
  fc.constantFrom(...quotes).map((q) => `${q} OR space != ${q}${q} OR (${q}1${q} = ${q}1`),
  fc.constantFrom(...quotes).map((q) => `${q}) UNION ALL SELECT * FROM sluice.records -- `),
  hostileText,
  fc.constantFrom('*', 'space', '_id', 't0', '{id}'),
);
const by = fc.constantFrom('text', 'n', 'id', 'createdAt', 'space', '_id', 't0', 'text, space', '`space`');
const options = fc.oneof(
  fc.constant({}),
  fc.record({ sort: fc.record({ by, order: fc.constantFrom('asc', 'desc', 'desc, space') }) }),
  fc.record({
    pagination: fc.record({ limit: fc.integer({ min: -1, max: 99 }), page: fc.integer({ max: 3 }) }),
  }),
  fc.record({ paramRelationship: fc.constantFrom('Or', 'And', 'OR 1 = 1') }),
  texts,
);

export function attempts(places: number, count: number): fc.Arbitrary<Attempt[]> {
  const attempt = fc.record({
    place: fc.nat(places - 1),
    operation: fc.oneof(
      {
        weight: 60,
        arbitrary: fc.constantFrom(...operations.filter((name) => !seldom.includes(name as never))),
      },
      { weight: 4, arbitrary: fc.constantFrom(...seldom) },
    ),
    of: fc.nat(places - 1),
    record: fc.nat(),
    text: texts,
    options: options.map((value) =>
      // a header is ASCII
      JSON.stringify(value).replace(
        /[^ -~]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    ),
  });
  return fc.array(attempt, { minLength: count, maxLength: count });
}

/** Somebody with a space, who knows the ids of all records of others, and what its own space has to hold. */
export class Attacker {
  readonly #baseUrl: string;
  readonly #place: Place;
  readonly #structure: string;
  /** What the space holds, exactly: calls of one attacker go one after the other. */
  readonly notes = new Map<string, Note>();
  /** All that were there at some time. */
  readonly ids: string[] = [];
  readonly problems: string[] = [];
  calls = 0;
  /** Of the user of this place. */
  #login = '';

  constructor(baseUrl: string, place: Place) {
    this.#baseUrl = baseUrl;
    this.#place = place;
    this.#structure = structureOf(place.project, 'notes', [
      { name: 'text', type: 'TEXT', unique: true },
      { name: 'n', type: 'NUMBER' },
      { name: 'mark', type: 'TEXT' },
      { name: 'space', type: 'TEXT' },
    ]);
  }

  get mark(): string {
    return `mark of ${this.#place.name};`;
  }

  async begin(): Promise<void> {
    const body = sharedTexts.slice(0, 6).map((text, n) => ({ text, n, mark: this.mark, space: 'equal' }));
    this.#stored(await this.#call('', { body }));
    // everywhere the same user with a password of its own
    const user = { email: 'same@example.com', password: this.mark, mark: this.mark };
    await this.#call('/_single_', { slug: 'users', structure: this.#users, body: user });
    await this.#logIn(this);
    if (this.#login === '') this.#complain('login', 'its own user');
  }

  get #users(): string {
    return structureOf(this.#place.project, 'users', [
      { name: 'email', type: 'TEXT', unique: true },
      { name: 'password', type: 'TEXT', hashed: true },
      { name: 'mark', type: 'TEXT' },
    ]);
  }

  /** With the password of another place's user. */
  async #logIn(other: Attacker): Promise<void> {
    const headers = { 'function-resources': `{"mustExistSpaceStructures":[${this.#users}]}` };
    const body = { email: 'same@example.com', password: other.mark };
    const answer = await this.#call('/login', { slug: 'function', headers, body });
    if (answer.status !== 200) return;
    if (other !== this) this.#complain('login', answer);
    this.#login = (answer.body as { token: string }).token;
  }

  async attempt({ operation, record, text, options }: Attempt, other: Attacker): Promise<void> {
    const id = other.ids[record % other.ids.length] as string;
    const value = encodeURIComponent(text);
    const body = { text, n: record, mark: this.mark, space: id };
    const headers = { options };
    const has = [...this.notes.values()].some((note) => note.text === text);
    switch (operation) {
      case 'find':
        return this.#read(await this.#call(`?text=${value}`, { headers }));
      case 'findOr':
        return this.#read(
          await this.#call(`?id=${id}&text=${value}&space=${id}`, {
            headers: { options: '{"paramRelationship":"Or"}' },
          }),
        );
      case 'findById':
        return this.#read(
          await this.#call(`?id=${id}&id=${value}`, { headers }),
          await this.#call(`?id=${id}`),
        );
      case 'findOne': {
        const found = await this.#call(`/_single_?text=${value}`);
        if (found.status === 200 && (found.body !== null) !== has) this.#complain('findOne', found.body);
        return this.#read(found);
      }
      case 'search':
        return this.#read(
          await this.#call(
            `/search?searchText=${encodeURIComponent([...text].slice(0, 3).join(''))}&searchableFields[]=text&searchableFields[]=mark`,
            { headers },
          ),
        );
      case 'insertOne': {
        const answer = await this.#call('/_single_', { body });
        // what others have does not stand in its way
        if (sharedTexts.includes(text) && answer.status !== (has ? 400 : 200))
          this.#complain('insertOne', answer);
        return this.#stored(answer);
      }
      case 'insert':
        return this.#stored(await this.#call('', { body: [body, { ...body, text: `${text} ${record}` }] }));
      case 'updateOne':
        return this.#changed(
          await this.#call(`/update?id=${id}&space=${value}`, {
            body,
            headers: { options: '{"paramRelationship":"Or"}' },
          }),
        );
      case 'updateOneById':
        return this.#changed(
          await this.#call(`/update-by-id?id=${id}`, { body: { n: record, mark: this.mark } }),
          id,
        );
      case 'delete': {
        const answer = await this.#call(`?id=${id}`, { method: 'DELETE' });
        if ((answer.status === 200) !== this.notes.delete(id)) this.#complain('delete', answer);
        return;
      }
      case 'clear':
        await this.#call('/clear-records', { method: 'DELETE' });
        this.notes.clear();
        return;
      case 'hostileSlug': {
        const slugs = [
          id,
          other.#place.name,
          `notes%2F..%2F${other.#place.project}`,
          value,
          `notes'%20OR%201`,
        ];
        const headers = { 'use-pre-stored-structure': 'true', 'auto-create-record-space': 'false' };
        const answer = await this.#call('', { headers, slug: slugs[record % slugs.length] as string });
        if (answer.status === 200) this.#complain('slug', answer);
        return;
      }
      case 'setKeys': {
        const keys = {
          slug: 'keys',
          structure: structureOf(this.#place.project, 'keys', [{ name: 'mark', type: 'TEXT' }]),
        };
        await this.#call('/set-key-values', { ...keys, body: { mark: this.mark } });
        const { body } = await this.#call('/get-key-values', keys);
        if ((body as { mark?: string } | null)?.mark !== this.mark) this.#complain('keys', body);
        return;
      }
      case 'login':
        return this.#logIn(other);
      case 'getTokenOwner': {
        const users = { slug: 'users', structure: this.#users, headers: { token: other.#login } };
        const answer = await this.#call('/get-token-owner', users);
        if ((answer.status === 200) !== (other === this)) this.#complain('getTokenOwner', answer);
        return;
      }
      case 'otherStructure': {
        const answer = await this.#call(`?id=${id}`, { structure: other.#structure });
        return this.#read(answer);
      }
    }
  }

  /** The space holds what it must hold, and nothing else. */
  async check(): Promise<void> {
    const { body } = await this.#call('');
    const found = JSON.stringify((body as Note[]).map(({ id, text, mark }) => [id, text, mark]).sort());
    const expected = JSON.stringify(
      [...this.notes.values()].map(({ id, text, mark }) => [id, text, mark]).sort(),
    );
    if (found !== expected) this.problems.push(`${this.mark} ${found} instead of ${expected}`);
  }

  async #call(
    path: string,
    more: {
      body?: unknown;
      method?: string;
      headers?: Record<string, string>;
      structure?: string;
      slug?: string;
    } = {},
  ): Promise<{ status: number; body: unknown }> {
    this.calls++;
    const { slug = 'notes', ...rest } = more;
    const answer = await call({
      baseUrl: this.#baseUrl,
      token: this.#place.token,
      path: `/${this.#place.project}/${slug}${path}`,
      structure: this.#structure,
      ...rest,
    });
    const marks = new Set(JSON.stringify(answer.body).match(/mark of [^;]*;/g));
    marks.delete(this.mark);
    if (marks.size > 0) this.#complain('marks of others', answer.body);
    if (answer.status >= 500) this.#complain('failed', answer);
    return answer;
  }

  #read(...answers: readonly { status: number; body: unknown }[]): void {
    for (const { status, body } of answers) {
      if (status !== 200) continue;
      for (const note of [body].flat() as (Note | null)[]) {
        if (note !== null && this.notes.get(note.id)?.mark !== note.mark) this.#complain('read', note);
      }
    }
  }

  #stored({ status, body }: { status: number; body: unknown }): void {
    if (status !== 200) return;
    for (const note of [body].flat() as Note[]) {
      this.notes.set(note.id, note);
      this.ids.push(note.id);
    }
  }

  /** @param id whose change was asked for */
  #changed({ status, body }: { status: number; body: unknown }, id?: string): void {
    if (id !== undefined && (status === 200) !== this.notes.has(id))
      this.#complain('changed', { id, status });
    if (status !== 200) return;
    const note = body as Note;
    if (!this.notes.has(note.id)) this.#complain('changed', note);
    this.notes.set(note.id, note);
  }

  #complain(what: string, value: unknown): void {
    this.problems.push(`${this.mark} ${what}: ${JSON.stringify(value).slice(0, 500)}`);
  }
}
