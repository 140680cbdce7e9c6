import { LRUCache } from 'lru-cache';
import type { ApiError } from '../../common/errors/api-error.ts';
import { notAllowed, unauthorized } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { addressOwner } from '../../common/http/address-owner.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { upTo } from '../../common/limits/up-to.ts';
import { uuidV5 } from '../../common/metadata/uuid-v5.ts';
import { equals } from '../input/parse-conditions.ts';
import { oldest, type RecordReader } from '../records/record-reader.ts';
import { type BindSpace, nobodyMay } from '../space/open-space.ts';
import type { Spaces } from '../space/spaces.ts';
import { RequestKeys } from '../store/kept-results.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { createStructure, type Structure } from '../structure/structure.ts';
import { type LoginDeps, loginClaims, loginTokenOf } from './authorize.ts';
import { boundBy, type Rules, type RuleValues, readRules } from './rules.ts';

interface Deps extends LoginDeps {
  readonly store: Pick<RecordStore, 'results'>;
  readonly reader: RecordReader;
  readonly spaces: Pick<Spaces, 'find'>;
  readonly now: () => number;
}

type User = NonNullable<RuleValues['user']>;

/** A space as its rules show it, whoever asks. */
interface Ruled {
  readonly rules: Rules;
  readonly structure: Structure;
}

/** Users of spaces, of all accounts, as whom spaces are kept; another one is made again. */
const keptViews = 20_000;

/** Binds requests to the rules of their spaces (docs/security.md#rules). */
export class BoundSpaces {
  readonly #deps: Deps;
  readonly #ruled = new WeakMap<RecordSpace, Ruled>();
  /** One object for one view: what is kept, and what is read for several requests at once, belongs to a view. */
  readonly #views = new LRUCache<string, RecordSpace>({ ...upTo(keptViews) });
  readonly #viewKeys = new RequestKeys();
  readonly #users = new WeakMap<Uint8Array, User | null>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  readonly bind: BindSpace = async ({ request, space, operation, admit }) => {
    const ruled = this.#ruledBy(space);
    // a user who logs in may still have an old token
    const token = ruled === null || operation === 'login' ? null : loginTokenOf(request, space);
    const user = token === null || ruled === null ? null : await this.#userOf(request, space, ruled, token);
    await admit?.(user === null ? addressOwner(request.address) : `user ${user.id}`);
    if (token !== null && user === null)
      throw unauthorized(
        `The header token holds no login token of a user of the record space ${ruled?.rules.users}`,
      );
    if (ruled === null || (operation !== 'login' && ruled.rules.allow[operation] === null))
      throw nobodyMay(operation);
    return this.#viewFor(space, ruled, user);
  };

  /** The space as a user sees it. Null: the space has no rules, or there is no such user. @param id null: nobody has logged in */
  async viewAs(space: RecordSpace, id: string | null, signal: AbortSignal): Promise<RecordSpace | null> {
    const ruled = this.#ruledBy(space);
    const users = ruled && id !== null ? await this.#usersOf(space, ruled, signal) : null;
    const user = users === null || id === null ? null : await this.#userBy(users, id, signal);
    return ruled === null || (id !== null && user === null) ? null : this.#viewFor(space, ruled, user);
  }

  /** Null: the space has no rules. */
  #ruledBy(space: RecordSpace): Ruled | null {
    if (space.rules === undefined || space.missing) return null;
    const known = this.#ruled.get(space);
    if (known !== undefined) return known;
    const problems: string[] = [];
    const rules = readRules(JSON.parse(space.rules), space.stored, problems);
    if (problems.length > 0) throw outOfDate(space);
    const fields = space.structure.fields.map((field) => ({
      ...field,
      // a hash that can be compared can be guessed: login has a throttle
      ...(field.hashed || rules.hidden.includes(field.slug) ? ({ hidden: true } as const) : {}),
      ...(rules.set.has(space.stored.lookup.get(field.slug) ?? field) ? ({ filled: true } as const) : {}),
    }));
    const structure = createStructure({ ...space.structure, fields });
    const ruled = { rules, structure };
    this.#ruled.set(space, ruled);
    return ruled;
  }

  #viewFor(space: RecordSpace, { rules, structure }: Ruled, user: User | null): RecordSpace {
    // to the second, so that answers can be kept that long
    const now = new Date(Math.floor(this.#deps.now() / 1000) * 1000);
    const values = rules.variables.map((variable) => {
      if (variable === '$now') return now.getTime();
      return user?.values[variable.slice('$user.'.length)] ?? null;
    });
    const key = this.#viewKeys.of(space, JSON.stringify([user?.id ?? null, ...values]));
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const problems: string[] = [];
    const bound = boundBy(rules, space.stored, { user, now }, problems);
    if (problems.length > 0) throw outOfDate(space);
    const view = { ...space, structure, bound };
    this.#views.set(key, view);
    return view;
  }

  /** The user of a login token; null: there is none. */
  async #userOf(
    { signal }: HttpRequest,
    space: RecordSpace,
    ruled: Ruled,
    token: string,
  ): Promise<User | null> {
    const users = await this.#usersOf(space, ruled, signal);
    const claims = users && (await loginClaims(this.#deps, users, token));
    return users && claims && this.#userBy(users, claims.recordId, signal);
  }

  #usersOf(
    { ownerId, stored }: RecordSpace,
    { rules }: Ruled,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> {
    return this.#deps.spaces.find(uuidV5(ownerId, stored.projectSlug, rules.users), signal);
  }

  async #userBy(users: RecordSpace, id: string, signal: AbortSignal): Promise<User | null> {
    const { store, reader } = this.#deps;
    const conditions = { ...oldest.conditions, plain: [equals('id', id)] };
    const plan = { ...oldest, conditions };
    // kept like an answer: the same user asks again and again
    const asked = `user ${id}`;
    const cache = await store.results.at(users, asked);
    let record = cache.get(users, asked) ?? null;
    if (record === null) {
      record = reader.firstNow(users, plan);
      if (record !== null) cache.keep(users, asked, conditions, record);
      const read = async () => Buffer.from((await reader.first(users, plan, signal)) ?? 'null');
      record ??= (await cache.load(users, asked, conditions, read)) ?? (await read());
    }
    let user = this.#users.get(record);
    if (user === undefined) {
      user = userIn(record, users.stored);
      this.#users.set(record, user);
    }
    return user;
  }
}

function userIn(record: Uint8Array, { fields }: Structure): User | null {
  const values = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown> | null;
  if (values === null) return null;
  const bySlug = fields.map(({ name, slug }) => [slug, values[name]] as const);
  return { id: values.id as string, values: { ...Object.fromEntries(bySlug), ...values } };
}

function outOfDate({ stored }: RecordSpace): ApiError {
  return notAllowed(
    `The rules of the record space ${shownName(stored.slug)} do not fit its fields and users any more`,
  );
}
