import t from 'tap';
import { createLocalReservations } from '../../query/unique/unique-reservations.ts';
import { uniqueReservationsSuite } from '../services/unique-reservations-suite.ts';

uniqueReservationsSuite(t, async (limits) => createLocalReservations(limits));
