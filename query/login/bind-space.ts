import { LRUCache } from 'lru-cache';
import type { ApiError } from '#kernel/errors/api-error.ts';
import { notAllowed, unauthorized } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { equals } from '#records/input/parse-conditions.ts';
import { oldest, type RecordReader } from '#records/record-reader.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { type BindSpace, nobodyMay } from '../space/open-space.ts';
import type { Spaces } from '../space/spaces.ts';
import { type LoginParts, loginClaims, loginTokenOf } from './authorize.ts';
import { boundBy, type Rules, type RuleValues, readRules } from './rules.ts';

interface BoundSpacesParts extends LoginParts {
  readonly store: Pick<RecordStore, 'results'>;
  readonly reader: RecordReader;
  readonly spaces: Pick<Spaces, 'find' | 'findKnown'>;
  readonly now: () => number;
}

type User = NonNullable<RuleValues['user']> & {
  /** His space and his id. */
  readonly key: string;
  /** As JSON. */
  readonly record: Uint8Array;
  readonly views: Views;
};

/** A space as its rules show it, whoever asks. */
interface Ruled {
  readonly rules: Rules;
  /** Id of the space of its users. */
  readonly usersId: string;
  readonly structure: Structure;
  /** Whether they name `$now`. */
  readonly isTimed: boolean;
  readonly strangers: Views;
}

/**
 * One object for one view: kept results and shared statements belong to a view. `second` is that of `$now`; 0: the rules
 * do not name it.
 */
type Views = Map<Ruled, { readonly view: RecordSpace; readonly second: number }>;

/** Bytes of views that are kept, with their users; of a view; and views of a user. */
const keptViews = 32 * 1024 * 1024;
const bytesOfView = 2048;
const spacesOfUser = 8;

/** Its signal is made when it is asked for, which costs as much as all the rest. */
type Asking = Pick<HttpRequest, 'signal'>;

/** Applies the rules of spaces to requests: row-level security (docs/security.md#rules). */
export class BoundSpaces {
  readonly #deps: BoundSpacesParts;
  readonly #ruled = new WeakMap<RecordSpace, Ruled>();
  /** Users with their views. A user whose record is re-read unchanged keeps the same view objects. */
  readonly #kept = new LRUCache<string, User>({
    maxSize: keptViews,
    sizeCalculation: ({ record, key }) => record.byteLength + 2 * key.length + spacesOfUser * bytesOfView,
    dispose: ({ views }) => views.clear(),
    noDisposeOnSet: true,
  });
  readonly #users = new WeakMap<Uint8Array, User | null>();

  constructor(deps: BoundSpacesParts) {
    this.#deps = deps;
  }

  readonly bind: BindSpace = ({ request, space, operation, admit }) => {
    const ruled = this.#ruledBy(space);
    // a user who logs in may still have an old token
    const token = ruled === null || operation === 'login' ? null : loginTokenOf(request, space);
    const found = token === null || ruled === null ? null : this.#userOf(request, ruled, token);
    return continueWith(found, (user) => {
      const admission = admit?.(user === null ? addressOwner(request.address) : `user ${user.id}`);
      return continueWith(admission, () => {
        if (token !== null && user === null)
          throw unauthorized(
            `The header token holds no login token of a user of the record space ${ruled?.rules.users}`,
          );
        if (ruled === null || (operation !== 'login' && ruled.rules.allow[operation] === null))
          throw nobodyMay(operation);
        return this.#viewFor(space, ruled, user);
      });
    });
  };

  /** The space as a user sees it. Null: the space has no rules, or there is no such user. @param id null: nobody has logged in */
  async viewAs(space: RecordSpace, id: string | null, signal: AbortSignal): Promise<RecordSpace | null> {
    const ruled = this.#ruledBy(space);
    const users = ruled && id !== null ? await this.#usersOf(ruled, { signal }) : null;
    const user = users === null || id === null ? null : await this.#userBy(users, id, { signal });
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
    // fields that the request leaves out are written, too, where rules or defaults give them values
    const { fields: named } = space.structure;
    const isNamed = new Set(named.map(({ slug }) => slug));
    const others = space.stored.fields.filter(({ slug }) => !isNamed.has(slug));
    const isSet = new Set([...rules.set.keys()].map(({ slug }) => slug));
    const all = [...named, ...others.map((field) => ({ ...field, hidden: true as const }))];
    const fields = all.map((field) => ({
      ...field,
      // a hash that can be compared can be guessed: login has a throttle
      ...(field.hashed || rules.hidden.includes(field.slug) ? ({ hidden: true } as const) : {}),
      ...(isSet.has(field.slug) ? ({ filled: true } as const) : {}),
    }));
    const structure = createStructure({ ...space.structure, fields });
    const usersId = uuidV5(space.ownerId, space.stored.projectSlug, rules.users);
    const isTimed = rules.variables.includes('$now');
    const ruled: Ruled = { rules, usersId, structure, isTimed, strangers: new Map() };
    this.#ruled.set(space, ruled);
    return ruled;
  }

  #viewFor(space: RecordSpace, ruled: Ruled, user: User | null): RecordSpace {
    const { rules, structure } = ruled;
    const views = user === null ? ruled.strangers : user.views;
    // to the second, so that answers can be kept that long
    const second = ruled.isTimed ? Math.floor(this.#deps.now() / 1000) : 0;
    const known = views.get(ruled);
    if (known?.second === second) return known.view;
    const problems: string[] = [];
    const bound = boundBy(rules, space.stored, { user, now: new Date(second * 1000) }, problems);
    if (problems.length > 0) throw outOfDate(space);
    const view = { ...space, structure, bound };
    if (views.size >= spacesOfUser) views.clear();
    views.set(ruled, { view, second });
    if (user !== null) this.#kept.set(user.key, user);
    return view;
  }

  /** The user of a login token; null: there is none. */
  #userOf(request: Asking, ruled: Ruled, token: string): User | null | Promise<User | null> {
    return continueWith(this.#usersOf(ruled, request), (users) =>
      continueWith(users && loginClaims(this.#deps, users, token), (claims) =>
        users && claims ? this.#userBy(users, claims.recordId, request) : null,
      ),
    );
  }

  #usersOf({ usersId }: Ruled, asking: Asking): RecordSpace | null | Promise<RecordSpace | null> {
    const { spaces } = this.#deps;
    return spaces.findKnown(usersId) ?? spaces.find(usersId, asking.signal);
  }

  #userBy(users: RecordSpace, id: string, asking: Asking): User | null | Promise<User | null> {
    const { store, reader } = this.#deps;
    // kept like an answer: the same user asks again and again
    const asked = `user ${id}`;
    return continueWith(store.results.at(users, asked), (cache) => {
      const kept = cache.get(users, asked);
      if (kept !== undefined) return this.#read(users, id, kept);
      const conditions = { ...oldest.conditions, plain: [equals('id', id)] };
      const plan = { ...oldest, conditions };
      const now = reader.firstNow(users, plan);
      if (now !== null) {
        cache.keep(users, asked, conditions, now);
        return this.#read(users, id, now);
      }
      const loaded = cache.underway(users, asked);
      const shared =
        loaded === null
          ? cache.share(users, asked, conditions, this.#record(users, id, asking.signal))
          : // the client of the other request may go away
            loaded.catch(() => null);
      return shared.then(async (record) =>
        this.#read(users, id, record ?? (await this.#record(users, id, asking.signal))),
      );
    });
  }

  async #record(users: RecordSpace, id: string, signal: AbortSignal): Promise<Uint8Array> {
    return Buffer.from((await this.#deps.reader.byId(users, id, signal)) ?? 'null');
  }

  #read({ id: space, stored }: RecordSpace, id: string, record: Uint8Array): User | null {
    let user = this.#users.get(record);
    if (user === undefined) {
      const key = `${space} ${id}`;
      const before = this.#kept.get(key);
      const isSame = before !== undefined && Buffer.compare(before.record, record) === 0;
      user = isSame ? before : userIn(record, stored, key);
      this.#users.set(record, user);
    }
    return user;
  }
}

function userIn(record: Uint8Array, { fields }: Structure, key: string): User | null {
  const values = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown> | null;
  if (values === null) return null;
  const bySlug = fields.map(({ name, slug }) => [slug, values[name]] as const);
  const all = { ...Object.fromEntries(bySlug), ...values };
  return { id: values.id as string, values: all, key, record, views: new Map() };
}

function outOfDate({ stored }: RecordSpace): ApiError {
  return notAllowed(
    `The rules of the record space ${shownName(stored.slug)} do not fit its fields and users any more`,
  );
}
