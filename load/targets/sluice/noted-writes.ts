import type { LiveNotes } from '../../live/live-notes.ts';
import type { Mix, MixRequest, RecordRequest } from '../../mix/mix.ts';
import type { FieldValue } from '../../seed/records.ts';
import { changedField, RecordChoice } from '../records/record-choice.ts';
import { idReader, noIds } from '../records/record-ids.ts';
import type { Outcome, Performer } from '../target.ts';
import type { PreparedSpaces } from './prepare-spaces.ts';

interface WatchedLoad {
  readonly mix: Mix;
  readonly spaces: PreparedSpaces;
  readonly notes: LiveNotes;
}

type Note = (number: number, outcome: Outcome) => void;

/** Notes when the writes that streams may tell of are acknowledged. */
export function notedWrites(performer: Performer, { mix, spaces, notes }: WatchedLoad): Performer {
  const watched = new Set(mix.requests.flatMap((one) => (one.kind === 'live' ? [one.space] : [])));
  const noteOf = (request: RecordRequest): Note | null => {
    const choice = new RecordChoice(mix, request);
    const field = tellingField(mix, request.space);
    if (request.kind === 'insert')
      return (number, { stored }) => {
        if (stored?.kind !== 'record' || stored.id === null) return;
        const value = field === null ? null : choice.record(choice.inserted(number))[field];
        notes.wrote(stored.id, value as FieldValue | null);
      };
    // two updates may set the same value: an event would not say of which it tells
    if (field === null) return null;
    const idOf = idReader(spaces[request.space] ?? noIds);
    return (number) => notes.wrote(idOf(choice.chosen(number)), choice.change(number)[field] as FieldValue);
  };
  const noters = new Map<MixRequest, Note>();
  for (const request of mix.requests) {
    if ((request.kind !== 'insert' && request.kind !== 'update') || !watched.has(request.space)) continue;
    const note = noteOf(request);
    if (note !== null) noters.set(request, note);
  }
  return {
    ...performer,
    async perform(request, number, signal) {
      const outcome = await performer.perform(request, number, signal);
      if (outcome.good) noters.get(request)?.(number, outcome);
      return outcome;
    },
  };
}

/** The field whose value tells one write of a record from the next; null: no update sets another value each time. */
export function tellingField({ requests, spaces }: Mix, name: string): string | null {
  const space = spaces.find((one) => one.name === name);
  const isUpdated = requests.some((one) => one.kind === 'update' && one.space === name);
  if (space === undefined || !isUpdated) return null;
  const changed = changedField(requests, space);
  const field = space.fields.find((one) => one.name === changed);
  return field?.values === null && field.type !== 'BOOLEAN' ? changed : null;
}
