/** The command of sluice-client, for those who have the server at hand. */
import { runTypes } from '#client/types-command.ts';
import { commandLine } from '#process/lifecycle/command-line.ts';

await runTypes(commandLine('types'));
