import { doTask } from '../imports/thread/do-task.ts';
import { findNull, type NullTask } from './parquet-nulls.ts';

doTask<NullTask>(async (task, post) => post(await findNull(task)));
