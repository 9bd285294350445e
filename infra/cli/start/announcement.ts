import type { LocalRun } from './local-run.ts';
import type { StartOptions } from './options.ts';

type Announced = Pick<LocalRun, 'url' | 'settings' | 'settingsFile' | 'azurite' | 'simulator' | 'warnings'>;

/** The text that `npm start` prints when everything runs: the addresses of its parts, and the next commands. */
export const announcement = (run: Announced, options: StartOptions, seconds: number): string => {
  const { url } = run;
  return [
    '',
    `Open ${url}/api/dashboard in a browser.`,
    '',
    `The service runs on ${url} (ready after ${seconds.toFixed(1)} s).`,
    '',
    `  tables  ${describeTables(run, options)}`,
    `  phone   ${describePhone(run, options)}`,
    ...(run.settingsFile === undefined ? [] : [`  settings from the environment and ${run.settingsFile}`]),
    ...run.warnings.map((warning) => `\nWarning: ${warning}`),
    '',
    'A day of activity, in another terminal:',
    `  ${demoCommand(url === 'http://localhost:7071' ? 'npm run demo' : `npm run demo -- --url ${url}`, process.execPath)}`,
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n');
};

const describeTables = ({ azurite, settings }: Announced, { data }: StartOptions): string => {
  if (azurite === undefined) {
    const given = 'TABLES_CONNECTION_STRING' in settings ? 'TABLES_CONNECTION_STRING' : 'TABLES_ENDPOINT';
    return `the storage that ${given} names${data === undefined ? '' : ' (--data has no effect)'}`;
  }
  const kept = data === undefined ? 'in memory (--data DIR keeps them)' : `kept in ${data}`;
  return `Azurite on 127.0.0.1:${azurite.port}, ${kept}`;
};

const describePhone = ({ simulator, settings }: Announced, options: StartOptions): string => {
  if (settings['PHONE'] === 'off') return 'off (PHONE=off): the service phones no person';
  const name = 'TWILIO_ACCOUNT_SID' in settings ? 'Twilio' : 'ACS';
  if (simulator !== undefined) return `${name} simulator on ${simulator.url}: this terminal prints the spoken messages`;
  if (name === 'Twilio') return 'the Twilio account that TWILIO_ACCOUNT_SID names: real calls';
  const given = 'ACS_CONNECTION_STRING' in settings ? 'ACS_CONNECTION_STRING' : 'ACS_ENDPOINT';
  return `the ACS that ${given} names: real calls${options['verify-callbacks'] ? ' (--verify-callbacks has no effect)' : ''}`;
};

/** The command as it works in another terminal: if npx brought this Node, the Node there may be too old, or missing. */
export const demoCommand = (command: string, node: string): string =>
  /[\\/]_npx[\\/]/.test(node) ? `npx -y -p node@24 -c "${command}"` : command;
