/** `npm run bench -- upload|query|served|hostile|load|guard [OPTION...]`: README.md describes them. */
const names = ['upload', 'query', 'served', 'hostile', 'load', 'guard'];
const [name = ''] = process.argv.splice(2, 1);
if (names.includes(name)) await import(`./${name}/main.ts`);
else {
  console.error(`npm run bench -- ${names.join('|')} [OPTION...]`);
  process.exitCode = 2;
}
