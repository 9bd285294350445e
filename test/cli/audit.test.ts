import { expect, inject, it } from 'vitest';

import { exitCodeOf } from '../../infra/cli/audit/report.ts';
import { storageFailure } from '../../infra/cli/chosen-storage.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import { CountingStorage } from '../analytics/azurite.ts';
import { all, DATE, frame, SHARD, START } from '../analytics/counting.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { NO_SETTINGS, run } from './running.ts';

/** Runs the audit on the table with this prefix. */
const audit = async (prefix: string, args: readonly string[]) =>
  run('infra/cli/audit.ts', ['--settings', NO_SETTINGS, '--date', DATE, ...args], {
    environment: { TABLES_CONNECTION_STRING: inject('tablesConnectionString'), TABLES_PREFIX: prefix },
  });

it('npm run audit prints what it compared and exits with 0; --rewrite names each difference and asks first; --yes rewrites the day', async () => {
  const own = ownTablesPrefix();
  const storage = new CountingStorage(own);
  const frames = all(9).map((at) => frame(`ridge-${at % 8}`, `f-${at}`, START + BigInt(at) * 60_000_000n));
  await storage.process(2).record(frames);
  const good = await audit(own, []);
  expect(good.printed).toMatch(
    new RegExp(`^${DATE}, table ${own}analytics: 2 shards, 9 events, [\\d,]+ answers compared\\.\n`),
  );
  expect(good).toMatchObject({ code: 0, said: '', printed: expect.stringContaining('Every answer agrees with') });

  const day = JSON.stringify({ events: 3, reviewed: 0, annotated: 0, categories: { smoke: [4, 0, 0, 0, 0] } });
  await storage.client().updateEntity({ partitionKey: SHARD, rowKey: 'camera|ridge-0', day }, 'Merge', { etag: '*' });
  const difference = 'list of cameras: ridge-0: total_events 3 → 2';
  const asked = await audit(own, ['--rewrite']);
  expect(asked).toMatchObject({ code: 2, printed: expect.stringContaining('differences. Nothing was changed.') });
  expect(asked.printed).toContain(difference);
  expect(asked.said).toContain('add --yes to rewrite without asking. Nothing was changed.');
  const { code, printed } = await audit(own, ['--rewrite', '--shards', '3', '--yes']);
  expect(printed).toContain('switched to 3 shards: the service accepts events of this day again');
  expect(printed).toContain('3 shards, 9 events');
  expect(printed).toContain('Every answer agrees with the event rows.');
  expect(code).toBe(0);
});

it('the audit exits with 2 if there is no table, and does not create it', async () => {
  const own = ownTablesPrefix();
  const said = `There is no table ${own}analytics in this storage. Is TABLES_PREFIX the prefix of the service?\n`;
  expect(await audit(own, [])).toEqual({ code: 2, printed: '', said });
  await expect(new CountingStorage(own).client().getEntity('a', 'b')).rejects.toThrow('TableNotFound');
});

it.each([
  [{ name: 'RestError', code: 'ECONNREFUSED' }, 'The storage did not answer (away).'],
  [{ name: 'RestError', statusCode: 403 }, 'The storage denies access: the key or the role is wrong.'],
  [{ name: 'CredentialUnavailableError' }, 'The storage requires an identity, and no account is signed in here.'],
])('a command says why storage failed, without the message of the SDK: %o', (error, text) => {
  const cause = Object.assign(new Error('AccountKey=secret'), error);
  expect(storageFailure(new StorageTrouble(0, { reason: 'away', cause }), 'analytics')).toBe(text);
});

it('an audit that could not compare some answers exits with 2, but a difference or a damaged row is more urgent', () => {
  const report = { day: DATE, row: undefined, closed: false, events: 1, answers: 1, unreadable: [], differences: [] };
  expect(exitCodeOf({ ...report, unsettled: ['hour 08'] })).toBe(2);
  const difference = { counter: 'hour 08', facts: [], damage: undefined };
  expect(exitCodeOf({ ...report, unsettled: ['hour 09'], differences: [difference] })).toBe(1);
  const row = { partitionKey: SHARD, rowKey: 'event', etag: '', properties: {} };
  expect(exitCodeOf({ ...report, unsettled: ['hour 09'], unreadable: [{ row, damage: 'is damaged' }] })).toBe(1);
});
