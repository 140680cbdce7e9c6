import t from 'tap';
import { createLocalReservations } from '#records/unique/unique-reservations.ts';
import { uniqueReservationsSuite } from '../services/unique-reservations-suite.ts';

uniqueReservationsSuite(t, async (limits) => createLocalReservations(limits));
