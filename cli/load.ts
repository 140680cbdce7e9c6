/** The load-testing command of load/, for those who have the server at hand. */
import { runLoadCommand } from '#load/command.ts';
import { commandLine } from '#process/lifecycle/command-line.ts';

await runLoadCommand(commandLine('load'), process.argv.slice(2));
