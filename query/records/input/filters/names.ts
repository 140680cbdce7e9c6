import { isSystemKey, type Target } from '../../structure/field.ts';
import type { Structure } from '../../structure/structure.ts';
import { typeCan } from '../../types/field-types.ts';
import type { Comparison } from './filter.ts';

/** The subject of a condition, or of a function of a group. */
export type Subject = Pick<Comparison, 'target' | 'path'>;

/** A field by its name or slug, or a key that every record has; null: unknown. */
export function targetOf(name: string, { lookup, ofFile }: Structure): Target | null {
  return lookup.get(name) ?? (isSystemKey(name) && ofFile !== true ? name : null);
}

/** The same, or a path such as `home.city` within an OBJECT. */
export function subjectOf(name: string, structure: Structure): Subject | null {
  const whole = targetOf(name, structure);
  if (whole !== null) return { target: whole, path: [] };
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
    const target = targetOf(name.slice(0, dot), structure);
    if (target === null || typeof target === 'string' || !typeCan(target.type, 'paths') || target.hashed)
      continue;
    return { target, path: name.slice(dot + 1).split('.') };
  }
  return null;
}

/** The name of a subject in errors, which is always the field's name. */
export function nameOfSubject({ target, path }: Subject): string {
  return [typeof target === 'string' ? target : target.name, ...path].join('.');
}
