import { TableClient } from '@azure/data-tables';
import { describe, expect, inject, it } from 'vitest';

import { readArguments } from '../../infra/cli/command-line.ts';
import { AUDIT } from '../../infra/cli/audit/options.ts';
import { freePort } from '../../infra/emulators/free-port.ts';
import { CountingStorage } from '../analytics/azurite.ts';
import type { PlainMessage } from '../analytics/oracle.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { run } from './send/running.ts';
import { NO_SETTINGS } from './npm-start.ts';

const DATE = '2026-03-14';
const MIDNIGHT = BigInt(Date.parse(`${DATE}T00:00:00Z`)) * 1_000n;

const messages: readonly PlainMessage[] = Array.from({ length: 9 }, (_, at) => {
  const ts = MIDNIGHT + (480n + BigInt(at)) * 60_000_000n;
  return { eventId: `f-${at}`, cameraId: `ridge-${at % 8}`, ts, time: ts, detections: { smoke: 1 } };
});

const tableOf = (prefix: string): TableClient =>
  TableClient.fromConnectionString(inject('tablesConnectionString'), `${prefix}analytics`, {
    allowInsecureConnection: true,
  });

const settings = (tablesPrefix: string): Record<string, string> => ({
  TABLES_CONNECTION_STRING: inject('tablesConnectionString'),
  TABLES_PREFIX: tablesPrefix,
});

/** Runs the audit with exactly these settings. */
const audit = async (args: readonly string[], environment: Record<string, string>) =>
  run('audit', ['--settings', NO_SETTINGS, ...args], { environment });

describe('npm run audit', () => {
  it('prints what it compared and exits with 0; prints each difference and exits with 1; with --rewrite shows what changes, and does it with --yes', async () => {
    const own = ownTablesPrefix();
    const client = tableOf(own);
    await new CountingStorage(own).process(2).record(messages);
    const good = await audit(['--date', DATE], settings(own));
    expect(good.printed).toMatch(
      new RegExp(`^${DATE}, table ${own}analytics: 2 shards, 9 events, [\\d,]+ answers compared\\.\n`),
    );
    expect(good).toMatchObject({ code: 0, said: '', printed: expect.stringContaining('Every answer agrees with') });

    const day = JSON.stringify({ events: 3, reviewed: 0, annotated: 0, categories: { smoke: [4, 0, 0, 0, 0] } });
    await client.updateEntity({ partitionKey: `${DATE}_00`, rowKey: 'camera|ridge-0', day }, 'Merge', { etag: '*' });
    const found = await audit(['--date', DATE], settings(own));
    expect(found.printed).toContain('list of cameras: ridge-0: total_events 3 → 2');
    expect(found.printed).toContain('differences. Nothing was changed.');
    expect(found.code).toBe(1);

    const asked = await audit(['--date', DATE, '--rewrite'], settings(own));
    expect(asked.code).toBe(2);
    expect(asked.printed).toContain('list of cameras: ridge-0: total_events 3 → 2');
    expect(asked.said).toContain('add --yes to rewrite without asking. Nothing was changed.');
    const { code, printed } = await audit(['--date', DATE, '--rewrite', '--shards', '3', '--yes'], settings(own));
    expect(printed).toContain('switched to 3 shards: the day takes events again');
    expect(printed).toContain('3 shards, 9 events');
    expect(printed).toContain('Every answer agrees with the event rows.');
    expect(code).toBe(0);
  });

  it('exits with 2 where the table does not exist, and does not create it', async () => {
    const own = ownTablesPrefix();
    const { code, printed, said } = await audit(['--date', DATE], settings(own));
    expect({ code, printed }).toEqual({ code: 2, printed: '' });
    expect(said).toContain(`There is no table ${own}analytics in this storage.`);
    await expect(tableOf(own).getEntity('a', 'b')).rejects.toMatchObject({ statusCode: 404 });
  });

  it('exits with 2 and prints no secret where storage does not answer or the key is wrong', async () => {
    const connection = inject('tablesConnectionString');
    const away = connection.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${await freePort()}`);
    const wrongKey = connection.replace(/AccountKey=[^;]+/, 'AccountKey=d3Jvbmcga2V5IG9mIHNvbWUgbGVuZ3Ro');
    const [unanswered, refused] = await Promise.all(
      [away, wrongKey].map(async (value) => audit(['--date', DATE], { TABLES_CONNECTION_STRING: value })),
    );
    expect(unanswered).toMatchObject({ code: 2, printed: '' });
    expect(unanswered?.said).toContain('The storage did not answer');
    expect(refused).toMatchObject({ code: 2, printed: '' });
    expect(refused?.said).toContain('the key or the role is wrong');
    expect(`${unanswered?.said}${refused?.said}`).not.toMatch(/AccountKey|d3Jvbmcg|Eby8vdM|\n\s+at /);
  });
});

describe('a wrong option of the audit', () => {
  it.each([
    [[], '--date is missing.'],
    [['--date', '2026-02-30'], '2026-02-30 is not a day that exists'],
    [['--date', DATE, '--yes'], '--yes, --shards and --without-unreadable go with --rewrite.'],
    [['--date', DATE, '--rewrite', '--shards', '65'], '--shards needs a number from 1 to 64.'],
  ])('%j: %s', (args, complaint) => {
    expect(() => readArguments(AUDIT, args)).toThrow(complaint);
    expect(() => readArguments(AUDIT, args)).toThrow('npm run audit -- --date YYYY-MM-DD');
  });
});
