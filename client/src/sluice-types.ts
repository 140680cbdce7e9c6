#!/usr/bin/env node
import { runTypes } from './types-command.ts';

await runTypes('npx --no-install sluice-types');
