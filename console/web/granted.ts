import { type Grant, type GrantPlace, lackOf, seesSpaces, type TouchedSpaces } from '#kernel/grants.ts';
import { session } from './session.ts';

/**
 * Whether the session may do it, so that pages leave out what would be refused.
 * @param touches absent: a record space, if the place names one, or else what is granted of many
 */
export function isGranted(grant: Grant, place: GrantPlace = {}, touches?: TouchedSpaces): boolean {
  const grants = session.value?.acting?.grants;
  const touched = touches ?? (place.space === undefined ? 'granted spaces' : 'space');
  return !grants || lackOf(grants, { grant, touches: touched }, place) === null;
}

/** For files, webhooks and usage. */
export function isGrantedBeside(grant: Grant, place: GrantPlace = {}): boolean {
  return isGranted(grant, place, 'beside spaces');
}

/** Whether lists have record spaces for the session. */
export function seesRecordSpaces(): boolean {
  return seesSpaces(session.value?.acting?.grants ?? {});
}
