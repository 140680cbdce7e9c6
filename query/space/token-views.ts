import type { Principal } from '#auth/authenticate.ts';
import { notGranted } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { isSameType } from '#records/types/field-types.ts';

interface TokenTraits {
  readonly limits: Principal['limits'] | undefined;
  readonly grants: Principal['grants'] | undefined;
}

const mostViews = 1000;

/**
 * Spaces as seen by tokens with their own limits or grants. A view must stay the same object, as cached results and shared
 * statements belong to it.
 */
export class LimitedViews {
  readonly #views = new WeakMap<RecordSpace, Map<string, RecordSpace>>();
  readonly #last = new WeakMap<RecordSpace, TokenTraits & { readonly view: RecordSpace }>();

  of(space: RecordSpace, { limits, grants }: Pick<Principal, 'limits' | 'grants'>): RecordSpace {
    if (limits === undefined && grants === undefined) return space;
    // most requests for a space repeat the token of the one before: no need to compare texts
    const last = this.#last.get(space);
    if (last !== undefined && last.grants === grants && last.limits === limits) return last.view;
    const view = this.#find(space, { limits, grants });
    this.#last.set(space, { limits, grants, view });
    return view;
  }

  #find(space: RecordSpace, { limits, grants }: TokenTraits): RecordSpace {
    const views = this.#views.get(space) ?? new Map<string, RecordSpace>();
    this.#views.set(space, views);
    const key = JSON.stringify([limits, grants]);
    const known = views.get(key);
    if (known !== undefined) return known;
    // a user can make and revoke tokens without end
    if (views.size >= mostViews) views.clear();
    const view = { ...space, ...(limits && { limits }), ...(grants && { grants }) };
    views.set(key, view);
    return view;
  }
}

/** Spaces as seen by requests that name a part of the stored structure, and may not change it. */
export class PartViews {
  readonly #views = new WeakMap<RecordSpace, WeakMap<Structure, RecordSpace>>();

  /** Throws 403 if the structure has anything that is not stored. */
  of(space: RecordSpace, requested: Structure): RecordSpace {
    const views = this.#views.get(space) ?? new WeakMap<Structure, RecordSpace>();
    this.#views.set(space, views);
    const known = views.get(requested);
    if (known !== undefined) return known;
    const { stored } = space;
    const fields = requested.fields.map((one) => {
      const { slug, name, hashed } = one;
      const field = stored.lookup.get(slug);
      if (field?.slug !== slug || field.name !== name || !isSameType(field, one) || field.hashed !== hashed)
        throw notGranted(
          `The access token is not granted structure: the request may only name stored fields as they are, and ${shownName(name)} is not one`,
        );
      return field;
    });
    const view = { ...space, structure: createStructure({ ...stored, fields }) };
    views.set(requested, view);
    return view;
  }
}
