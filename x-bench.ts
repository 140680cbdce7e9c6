import { readFileSync, mkdtempSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
const roots = ['/work/wt-types-base', '/work/wt-types'];
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
async function start(root: string) {
  const dir = mkdtempSync('/tmp/types-bench-');
  const c = spawn(process.execPath, ['--import', 'tsx', 'main.ts'], { cwd: root, env: { PATH: process.env.PATH!, HOME: '/tmp', PORT: '0', DATA_DIR: dir, BOOTSTRAP_TOKEN: 'bench-token-0123456789abcdef' }, stdio: ['ignore','pipe','ignore'] });
  const url = await new Promise<string>(r => { let o=''; c.stdout.on('data', d => { o+=d; const m=/Sluice listens on (\S+)/.exec(o); if (m) r(m[1]!); }); });
  return { c, dir, url, root };
}
const cpu = (pid: number) => { const f = readFileSync(`/proc/${pid}/stat`,'utf8').split(') ')[1]!.split(' '); return (Number(f[11])+Number(f[12]))*10; };
const file = Buffer.from(randomBytes(48*1024).toString('base64'));
const big = randomBytes(64*1024*1024);
function post(url: string, body: Buffer, type = 'application/octet-stream') {
  const b='x'; const head = Buffer.from(`--${b}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: ${type}\r\n\r\n`); const tail = Buffer.from(`\r\n--${b}--\r\n`);
  return new Promise<void>((res, rej) => { const q = http.request(url + '/_f_/demo/upload', { agent, method:'POST', headers: { authorization: 'Bearer bench-token-0123456789abcdef', 'content-type': `multipart/form-data; boundary=${b}`, 'content-length': head.length+body.length+tail.length } }, r => { r.resume(); r.on('end', () => r.statusCode===200 ? res() : rej(new Error(String(r.statusCode)))); }); q.on('error', rej); q.write(head); q.write(body); q.end(tail); });
}
async function load(url: string, n: number, body: Buffer, par: number, type?: string) { let i=0; await Promise.all(Array.from({length: par}, async () => { while (i++ < n) await post(url, body, type); })); }
const servers = await Promise.all(roots.map(start));
const png = readFileSync('/tmp/types-media/i.png');
const image = Buffer.concat([png, file.subarray(png.length)]);
for (const [what, body, n, par, type] of [['U6 64 KiB octets', file, 1500, 8, undefined], ['64 KiB png', image, 1500, 8, 'image/png'], ['U1 64 MiB', big, 6, 1, undefined]] as const) {
  const ratios: number[] = []; const all: number[][] = [[],[]];
  for (let round=0; round<8; round++) {
    const got: number[] = [];
    const order = round % 2 ? [1,0] : [0,1];
    for (const k of order) { const s = servers[k]!; const before = cpu(s.c.pid!); await load(s.url, n, body, par, type); await new Promise(r=>setTimeout(r,300)); got[k] = (cpu(s.c.pid!)-before)/n; }
    if (round>0) { ratios.push(got[1]!/got[0]!); all[0]!.push(got[0]!); all[1]!.push(got[1]!); }
  }
  const med = (a: number[]) => [...a].sort((x,y)=>x-y)[Math.floor(a.length/2)]!;
  console.log(what, 'base ms', med(all[0]!).toFixed(3), 'now ms', med(all[1]!).toFixed(3), 'ratio of medians', (med(all[1]!)/med(all[0]!)).toFixed(3), 'median ratio', med(ratios).toFixed(3), ratios.map(r=>r.toFixed(2)).join(' '));
}
for (const s of servers) { s.c.kill(); await new Promise(r => s.c.on('exit', r)); rmSync(s.dir, {recursive:true, force:true}); }
process.exit(0);
