import { accessSync, constants } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePorts } from '../../../test/services/free-port.ts';
import { startChild } from '../harness/child-process.ts';
import { childPids } from '../harness/process-usage.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/temporary-directory.ts';
import type { Sink } from '../sink/start-sink.ts';
import { storedInSink } from '../subject/stored-in-sink.ts';
import type { Subject } from '../subject/subject.ts';

const startTimeout = 10_000;

/** nginx as a streaming reverse proxy: the cost of only moving the bytes. Null: not installed. */
export function startNginx(sink: Sink): Promise<Subject | null> {
  return start(proxyTo(sink.endpoint), storedInSink(sink, 'body'));
}

/** nginx with the files of a directory: the least cost of a download. Null: not installed. */
export function startNginxOn(files: string): Promise<Subject | null> {
  return start(`server {
    listen 127.0.0.1:PORT;
    root ${files};
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
  }`);
}

async function start(
  server: string,
  problems: Subject['problems'] = async () => [],
): Promise<Subject | null> {
  const command = findNginx();
  if (command === null) return null;
  const directory = makeTemporaryDirectory();
  await mkdir(join(directory, 'temp'));
  const port = await freePorts(1);
  const config = join(directory, 'nginx.conf');
  await writeFile(config, configuration(directory, server.replace('PORT', String(port))));
  const child = await startChild({
    command,
    // otherwise the log before the configuration is read would go to a system directory
    args: ['-c', config, '-p', directory, '-e', 'stderr'],
    ready: null,
    // killing the master would leave its worker behind
    lastSignal: 'SIGTERM',
  });
  await untilAccepted(port);
  return {
    name: 'nginx',
    target: { baseUrl: `http://127.0.0.1:${port}`, path: '/plain', token: 'none' },
    pids: [child.pid, ...childPids(child.pid)],
    problems,
    async stop() {
      await child.stop();
      removeTemporaryDirectory(directory);
    },
  };
}

function findNginx(): string | null {
  const candidates = [
    ...(process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, 'nginx')),
    // Debian's path, which is not in every PATH
    '/usr/sbin/nginx',
  ];
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // not here
    }
  }
  return null;
}

/**
 * Nothing is buffered, and connections to the sink are kept. nginx reads an unbuffered body in pieces of
 * client_body_buffer_size: with its default of 16 KiB it takes twice the CPU time, which would flatter Sluice.
 */
function proxyTo(sink: string): string {
  return `upstream sink {
    server ${new URL(sink).host};
    keepalive 64;
  }
  server {
    listen 127.0.0.1:PORT;
    client_max_body_size 0;
    client_body_buffer_size 1m;
    location / {
      proxy_pass http://sink;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_buffering off;
    }
  }`;
}

/** One worker, because Sluice is one process; nothing is logged. */
function configuration(directory: string, server: string): string {
  const user = userInfo().uid === 0 ? 'user root;\n' : '';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${directory}/temp/${name};`)
    .join('\n');
  return `${user}daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
${temporary}
  ${server}
}
`;
}

async function untilAccepted(port: number): Promise<void> {
  const deadline = performance.now() + startTimeout;
  while (!(await accepted(port))) {
    if (performance.now() > deadline) throw new Error(`nginx does not listen after ${startTimeout} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function accepted(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
