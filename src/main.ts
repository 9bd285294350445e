import { readSettings } from './settings.ts';

/** Set by the build: true in a debug bundle, false in a release bundle, where what it guards is removed. */
declare const DEBUG: boolean;

const settings = readSettings(process.env);

export { settings, DEBUG };
