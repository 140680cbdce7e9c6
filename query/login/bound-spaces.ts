import { LRUCache } from 'lru-cache';
import type { IsUser } from '#auth/file-senders.ts';
import { hasEnded, loginSlot } from '#auth/login-state.ts';
import type { ApiError } from '#kernel/errors/api-error.ts';
import { notAllowed, unauthorized } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { equals } from '#records/input/parse-conditions.ts';
import { oldest, type RecordReader } from '#records/record-reader.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { Field } from '#records/structure/field.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { typeOfTexts } from '#records/types/field-types.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { type BindSpace, nobodyMay } from '../space/open-space.ts';
import type { Spaces } from '../space/spaces.ts';
import { type LoginParts, loginClaims, loginTokenOf } from './authorize.ts';
import { bindRules, type Rules, type RuleValues, readRules } from './rules.ts';

interface BoundSpacesParts extends LoginParts {
  readonly store: Pick<RecordStore, 'results'>;
  readonly reader: RecordReader;
  readonly spaces: Pick<Spaces, 'find' | 'findKnown'>;
  readonly now: () => number;
}

type User = NonNullable<RuleValues['user']> & {
  /** Which of the user's logins have ended (login-state.ts). */
  readonly logins: string;
  /** The space and the id of the user. */
  readonly key: string;
  /** As JSON. */
  readonly record: Uint8Array;
  readonly views: Views;
};

/** A space with its rules, for all users. */
interface RuledSpace {
  readonly rules: Rules;
  /** Id of the space of its users. */
  readonly usersId: string;
  readonly structure: Structure;
  /** Whether the rules name `$now`. */
  readonly isTimed: boolean;
  readonly strangers: Views;
}

/**
 * Views by space. A view must stay the same object, as cached results and shared statements belong to it. `second` is the
 * time of `$now`; 0: the rules do not name it.
 */
type Views = Map<RuledSpace, { readonly view: RecordSpace; readonly second: number }>;

/** Bytes of all cached users and their views; bytes of a view; views of a user. */
const mostCachedBytes = 32 * 1024 * 1024;
const bytesOfView = 2048;
const spacesOfUser = 8;

/** A login state as a field, whose name no other field can have. */
const loginsField: Field = {
  name: '\n',
  slug: '\n',
  type: typeOfTexts,
  required: false,
  unique: false,
  hashed: false,
  description: '',
  comment: '',
  defaultValue: null,
  slot: loginSlot,
  keyed: false,
};

/** Passed instead of its signal: creating the signal, on first use, costs as much as all the rest. */
type Cancellable = Pick<HttpRequest, 'signal'>;

/** Applies the rules of spaces to requests: row-level security (docs/security.md#rules). */
export class BoundSpaces {
  readonly #deps: BoundSpacesParts;
  readonly #ruledSpaces = new WeakMap<RecordSpace, RuledSpace>();
  /** Users with their views. A user whose record is re-read unchanged keeps the same view objects. */
  readonly #cache = new LRUCache<string, User>({
    maxSize: mostCachedBytes,
    sizeCalculation: ({ record, key }) => record.byteLength + 2 * key.length + spacesOfUser * bytesOfView,
    dispose: ({ views }) => views.clear(),
    noDisposeOnSet: true,
  });
  readonly #users = new WeakMap<Uint8Array, User | null>();
  /** Spaces of users as they are read here: with their login states. */
  readonly #withLogins = new WeakMap<RecordSpace, RecordSpace>();

  constructor(deps: BoundSpacesParts) {
    this.#deps = deps;
  }

  readonly bind: BindSpace = ({ request, space, operation, admit }) => {
    const ruled = this.#ruledBy(space);
    // a user who logs in may still have an old token
    const token = ruled === null || operation === 'login' ? null : loginTokenOf(request, space);
    const found = token === null || ruled === null ? null : this.#userOfToken(request, ruled, token);
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

  /** The space as a user sees it. Null: the space has no rules, or the user does not exist. @param id null: a stranger */
  async viewAs(space: RecordSpace, id: string | null, signal: AbortSignal): Promise<RecordSpace | null> {
    const ruled = this.#ruledBy(space);
    const users = ruled && id !== null ? await this.#usersOf(ruled, { signal }) : null;
    const user = users === null || id === null ? null : await this.#userBy(users, id, { signal });
    return ruled === null || (id !== null && user === null) ? null : this.#viewFor(space, ruled, user);
  }

  /** Whether a space of users has a user. The answer is cached like those to requests for records. */
  readonly hasUser: IsUser = async ({ spaceId, id, claims }, signal) => {
    const { spaces } = this.#deps;
    const users = spaces.findKnown(spaceId) ?? (await spaces.find(spaceId, signal));
    const user = users && (await this.#userBy(users, id, { signal }));
    return user !== null && (claims === undefined || !hasEnded(user.logins, claims.login));
  };

  /** Null: the space has no rules. */
  #ruledBy(space: RecordSpace): RuledSpace | null {
    if (space.rules === undefined || space.missing) return null;
    const known = this.#ruledSpaces.get(space);
    if (known !== undefined) return known;
    const problems: string[] = [];
    const rules = readRules(JSON.parse(space.rules), space.stored, problems);
    if (problems.length > 0) throw outOfDate(space);
    // rules and defaults also write fields that the request leaves out
    const { fields: named } = space.structure;
    const isNamed = new Set(named.map(({ slug }) => slug));
    const others = space.stored.fields.filter(({ slug }) => !isNamed.has(slug));
    const isSet = new Set([...rules.set.keys()].map(({ slug }) => slug));
    const all = [...named, ...others.map((field) => ({ ...field, hidden: true as const }))];
    const fields = all.map((field) => ({
      ...field,
      // comparing hashes would allow guessing: only login may, which is throttled
      ...(field.hashed || rules.hidden.includes(field.slug) ? ({ hidden: true } as const) : {}),
      ...(isSet.has(field.slug) ? ({ filled: true } as const) : {}),
    }));
    const structure = createStructure({ ...space.structure, fields });
    const usersId = uuidV5(space.ownerId, space.stored.projectSlug, rules.users);
    const isTimed = rules.variables.includes('$now');
    const ruled: RuledSpace = { rules, usersId, structure, isTimed, strangers: new Map() };
    this.#ruledSpaces.set(space, ruled);
    return ruled;
  }

  #viewFor(space: RecordSpace, ruled: RuledSpace, user: User | null): RecordSpace {
    const { rules, structure } = ruled;
    const views = user === null ? ruled.strangers : user.views;
    // in whole seconds, so that answers can be cached that long
    const second = ruled.isTimed ? Math.floor(this.#deps.now() / 1000) : 0;
    const known = views.get(ruled);
    if (known?.second === second) return known.view;
    const problems: string[] = [];
    const bound = bindRules(rules, space.stored, { user, now: new Date(second * 1000) }, problems);
    if (problems.length > 0) throw outOfDate(space);
    const view = { ...space, structure, bound };
    if (views.size >= spacesOfUser) views.clear();
    views.set(ruled, { view, second });
    if (user !== null) this.#cache.set(user.key, user);
    return view;
  }

  /** The user of a login token; null: none. */
  #userOfToken(request: Cancellable, ruled: RuledSpace, token: string): User | null | Promise<User | null> {
    return continueWith(this.#usersOf(ruled, request), (users) =>
      continueWith(users && loginClaims(this.#deps, users, token), (claims) =>
        users && claims
          ? continueWith(this.#userBy(users, claims.recordId, request), (user) =>
              user === null || hasEnded(user.logins, claims.login) ? null : user,
            )
          : null,
      ),
    );
  }

  #usersOf({ usersId }: RuledSpace, request: Cancellable): RecordSpace | null | Promise<RecordSpace | null> {
    const { spaces } = this.#deps;
    return spaces.findKnown(usersId) ?? spaces.find(usersId, request.signal);
  }

  #userBy(space: RecordSpace, id: string, request: Cancellable): User | null | Promise<User | null> {
    const { store, reader } = this.#deps;
    const users = this.#readWithLogins(space);
    // cached like an answer: the same user sends many requests
    const key = `user ${id}`;
    return continueWith(store.results.at(users, key), (cache) => {
      const cached = cache.get(users, key);
      if (cached !== undefined) return this.#read(users, id, cached);
      const conditions = { ...oldest.conditions, plain: [equals('id', id)] };
      const plan = { ...oldest, conditions };
      const found = reader.firstNow(users, plan);
      if (found !== null) {
        cache.keep(users, key, conditions, found);
        return this.#read(users, id, found);
      }
      const loaded = cache.underway(users, key);
      const shared =
        loaded === null
          ? cache.share(users, key, conditions, this.#record(users, id, request.signal))
          : // the client of the other request may disconnect
            loaded.catch(() => null);
      return shared.then(async (record) =>
        this.#read(users, id, record ?? (await this.#record(users, id, request.signal))),
      );
    });
  }

  #readWithLogins(users: RecordSpace): RecordSpace {
    let view = this.#withLogins.get(users);
    if (view === undefined) {
      const structure = createStructure({
        ...users.structure,
        fields: [...users.structure.fields, loginsField],
      });
      view = { ...users, structure };
      this.#withLogins.set(users, view);
    }
    return view;
  }

  async #record(users: RecordSpace, id: string, signal: AbortSignal): Promise<Uint8Array> {
    return Buffer.from((await this.#deps.reader.byId(users, id, signal)) ?? 'null');
  }

  #read({ id: space, stored }: RecordSpace, id: string, record: Uint8Array): User | null {
    let user = this.#users.get(record);
    if (user === undefined) {
      const key = `${space} ${id}`;
      const before = this.#cache.get(key);
      const isSame = before !== undefined && Buffer.compare(before.record, record) === 0;
      user = isSame ? before : userIn(record, stored, key);
      this.#users.set(record, user);
    }
    return user;
  }
}

function userIn(record: Uint8Array, { fields }: Structure, key: string): User | null {
  const read = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown> | null;
  if (read === null) return null;
  const { [loginsField.name]: logins, ...values } = read;
  const bySlug = fields.map(({ name, slug }) => [slug, values[name]] as const);
  const all = { ...Object.fromEntries(bySlug), ...values };
  const id = values.id as string;
  return { id, logins: (logins as string | null) ?? '', values: all, key, record, views: new Map() };
}

function outOfDate({ stored }: RecordSpace): ApiError {
  return notAllowed(
    `The rules of the record space ${shownName(stored.slug)} no longer fit its fields and users`,
  );
}
