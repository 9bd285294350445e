import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';

import { describe, expect, inject, it } from 'vitest';
import { z } from 'zod';

import { VERSION } from '../../src/version.ts';
import { readMarkdown, readText, tableOf } from '../docs/markdown.ts';
import { loadBundle } from '../harness/bundled.ts';

const mapSchema = z.object({ sources: z.array(z.string()), sourcesContent: z.undefined().optional() });

/** The source files of a bundle, from its map, which does not have the sources themselves. */
const sources = async (bundle: string): Promise<readonly string[]> =>
  mapSchema.parse(JSON.parse(await readFile(`${bundle}.map`, 'utf8'))).sources;

/** The modules that a bundle requires and Node does not have. */
const foreignIn = (text: string): ReadonlySet<string> => {
  const required = [...text.matchAll(/\brequire\(\s*["'`]([^"'`]+)["'`]\s*\)/g)].map(([, name = '']) => name);
  return new Set(required.filter((name) => !isBuiltin(name)));
};

const twilioPackage = (bundle: string): string => join(dirname(bundle), 'twilio-package.cjs');

/** The operations of each function: the methods of its path in the description. It is registered for others as well, to refuse them. */
const routes = (bundle: 'debug' | 'release'): readonly string[] => {
  const { functions, description } = loadBundle(bundle);
  return functions
    .flatMap(({ name, bindings }) => {
      const trigger = Object.values(bindings).find(({ type }) => type === 'httpTrigger');
      if (trigger === undefined) return [];
      const path = String(trigger['route']);
      const registered = String(trigger['methods']).split(',');
      const described = Object.keys(Object(Object(description['paths'])[`/api/${path}`]));
      const methods = described.map((verb) => verb.toUpperCase()).filter((method) => registered.includes(method));
      return `${String(methods)} ${path} ${String(trigger['authLevel'])}: ${name}`;
    })
    .sort();
};

const RELEASE_ROUTES = [
  'GET analytics function: AnalyticsRange',
  'GET analytics/accuracy function: AnalyticsAccuracy',
  'GET analytics/accuracy.csv function: AnalyticsAccuracyCsv',
  'GET analytics/cameras function: AnalyticsCameras',
  'GET analytics/cameras.csv function: AnalyticsCamerasCsv',
  'GET analytics/cameras/last-seen function: AnalyticsLastSeen',
  'GET analytics/day function: AnalyticsDay',
  'GET analytics/series function: AnalyticsSeries',
  'GET analytics/series.csv function: AnalyticsSeriesCsv',
  'GET dashboard anonymous: Dashboard',
  'GET health anonymous: Health',
  'GET notifications/{id} function: Notification',
  'GET openapi.json anonymous: OpenApi',
  'GET problems anonymous: Problems',
  'GET,POST notifications function: Notifications',
  'OPTIONS events anonymous: DeliveryHandshake',
  'POST AnomalyCallback anonymous: AnomalyCallback',
  'POST BurnJobCallback anonymous: BurnJobCallback',
  'POST ConfirmedFireCallback anonymous: ConfirmedFireCallback',
  'POST CustomCallback anonymous: CustomCallback',
  'POST PointOfInterestCallback anonymous: PointOfInterestCallback',
  'POST ReportOfFireCallback anonymous: ReportOfFireCallback',
  'POST events function: RecordEvents',
  'POST notifications/{id}/acknowledge function: AcknowledgeNotification',
  'POST notifications/{id}/stop function: StopNotification',
];

describe('the release bundle', () => {
  it('registers every function with its route, methods and level, answers HTTP by the return value, and has its timers and an end', () => {
    expect(routes('release')).toEqual(RELEASE_ROUTES);
    const { functions, hooks } = loadBundle('release', {
      EVENT_RETENTION_DAYS: '30',
      BACKUP_CONTAINER_URL: 'https://account.blob.core.windows.net/backup',
    });
    const triggers = functions.flatMap(({ name, bindings }) =>
      Object.values(bindings).map(({ type, schedule }) => ({ name, type, schedule, answer: bindings['$return'] })),
    );
    for (const { answer } of triggers.filter(({ type }) => type === 'httpTrigger')) {
      expect(answer).toEqual({ type: 'http', direction: 'out', name: expect.any(String) });
    }
    expect(triggers.filter(({ type }) => type === 'timerTrigger')).toMatchObject([
      { name: 'Sweep', schedule: '*/30 * * * * *' },
      // Every six hours, and hourly.
      { name: 'BackUpDays', schedule: '0 40 */6 * * *' },
      { name: 'CloseDays', schedule: '0 20 * * * *' },
    ]);
    const usual = loadBundle('release').functions.filter(({ bindings }) =>
      Object.values(bindings).some(({ type }) => type === 'timerTrigger'),
    );
    expect(usual.map(({ name }) => name)).toEqual(['Sweep']);
    // Requests under way are finished before the process ends.
    expect(hooks).toContain('appTerminate');
  });

  it('has the functions of the table of endpoints', () => {
    const documented = tableOf('src/http/README.md', 'Endpoints').flatMap(
      ([method = '', paths = '', names = '', key]) =>
        paths.split(', ').map((path, index) => {
          const level = key === 'yes' ? 'function' : 'anonymous';
          return `${method} ${path} ${level}: ${names === 'as the path' ? path : names.split(', ')[index]}`;
        }),
    );
    const registered = RELEASE_ROUTES.flatMap((route) => {
      const [methods = '', ...rest] = route.split(' ');
      return methods.split(',').map((method) => [method, ...rest].join(' '));
    });
    expect(documented.toSorted()).toEqual(registered.toSorted());
  });

  it('has the functions whose keys the page about security tells apart', () => {
    const names = RELEASE_ROUTES.map((route) => route.split(' ').at(-1));
    const holders = tableOf('SECURITY.md', 'Who can do what').map((row) => row.join(' '));
    expect(names.filter((name) => !holders.some((row) => row.split(/[ ,;:]+/).includes(String(name))))).toEqual([]);
    const settings = readMarkdown('SECURITY.md').code.filter((code) => /^[A-Z][a-z]+(?:[A-Z][a-z]+)+$/.test(code));
    expect(settings.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('needs no setting of a phone service with PHONE=off', () => {
    const ofPhone = ['ACS_CONNECTION_STRING', 'ACS_SOURCE_PHONE_NUMBER', 'ACS_COGNITIVE_SERVICES_ENDPOINT'];
    const none = Object.fromEntries([...ofPhone, 'CALLBACK_BASE_URL'].map((setting) => [setting, '']));
    const { functions } = loadBundle('release', { PHONE: 'off', ...none });
    // With the timer Sweep.
    expect(functions).toHaveLength(RELEASE_ROUTES.length + 1);
  });

  it('has no test call, neither its path nor its module; the debug bundle adds only the test call', async () => {
    const { release, debug } = inject('bundles');
    const debugOnly = (await sources(debug)).filter((source) => /\/src\/.*test-call/.test(source));
    expect(debugOnly).not.toEqual([]);
    expect((await sources(release)).filter((source) => debugOnly.includes(source))).toEqual([]);
    expect(await readFile(release, 'utf8')).not.toContain('test-call');
    expect(routes('debug')).toEqual([...RELEASE_ROUTES, 'POST test-call function: TestCall'].sort());
  });

  it('reads nothing of Twilio and of backups before their first use: these modules are in files of their own', async () => {
    const { release } = inject('bundles');
    const parts = (await readFile(release, 'utf8')).matchAll(/import\(["'](\.[^"']+)["']\)/g);
    expect(new Set([...parts].map(([, path]) => path))).toEqual(new Set(['./backup.cjs', './twilio-package.cjs']));
    for (const bundle of Object.values(inject('bundles'))) {
      expect((await sources(bundle)).filter((source) => /node_modules\/twilio\/|storage-blob/.test(source))).toEqual(
        [],
      );
      expect(String(await sources(twilioPackage(bundle)))).toContain('node_modules/twilio/');
    }
  });

  it('needs no module except Node and the worker, and keeps names readable', async () => {
    const { release } = inject('bundles');
    const text = await readFile(release, 'utf8');
    expect(foreignIn(text)).toEqual(new Set(['@azure/functions-core']));
    expect(foreignIn(await readFile(twilioPackage(release), 'utf8'))).toEqual(new Set());
    expect(text).toMatch(/\breadSettings\b/);
    expect(String(await sources(release))).toMatch(/src\/main\.ts\b/);
  });

  it('has the version of package.json and of the newest release in CHANGELOG.md', () => {
    expect(loadBundle('release').description['info']).toMatchObject({ version: VERSION });
    expect(JSON.parse(readText('package.json'))).toMatchObject({ version: VERSION });
    expect(/^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/m.exec(readText('CHANGELOG.md'))?.[1]).toBe(VERSION);
  });
});
