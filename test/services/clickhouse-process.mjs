// A ClickHouse server: chDB's library has the listeners of one, and `SYSTEM START LISTEN` opens them. The call lasts as
// long as the server, so it has this process to itself, and a thread that ends it with its parent.
import { readSync } from 'node:fs';
import { isMainThread, Worker } from 'node:worker_threads';
import { DataType, load, open } from 'ffi-rs';

if (isMainThread) {
  new Worker(new URL(import.meta.url));
  const [library, ...args] = JSON.parse(process.argv[2]);
  open({ library: 'chdb', path: library });
  load({
    library: 'chdb',
    funcName: 'chdb_query_cmdline',
    retType: DataType.External,
    paramsType: [DataType.I32, DataType.StringArray],
    paramsValue: [args.length, args],
  });
  process.exit(1);
} else {
  // the parent holds the other end
  try {
    while (readSync(0, Buffer.alloc(64)) > 0);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}
