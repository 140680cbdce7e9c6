import { doTask } from '../imports/thread/do-task.ts';
import { readCsvShape } from './read-csv-shape.ts';

doTask(readCsvShape);
