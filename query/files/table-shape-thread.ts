import { doTask } from '../imports/thread/do-task.ts';
import { findShape, type ShapeTask } from './table-shape.ts';

doTask<ShapeTask>(async (task, post) => post(await findShape(task)));
