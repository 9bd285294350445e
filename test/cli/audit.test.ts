import { expect, inject, it } from 'vitest';

import { exitCodeOf, reportText } from '../../infra/cli/audit/report.ts';
import { storageFailure } from '../../infra/cli/chosen-storage.ts';
import type { AuditReport } from '../../src/analytics/audit/audit.ts';
import { shardOf, shardPartition } from '../../src/analytics/rows/keys.ts';
import { EMPTY_TALLY } from '../../src/analytics/model/tally.ts';
import { tallyValues } from '../../src/analytics/rows/properties.ts';
import { readSeal, sealShard } from '../../src/analytics/rows/seal.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import { CountingStorage } from '../analytics/azurite.ts';
import { all, DATE, frame, SHARD, START } from '../analytics/counting.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { NO_SETTINGS, run } from './running.ts';

/** Runs the audit on the table with this prefix. */
const audit = async (prefix: string, args: readonly string[], shards = 1) =>
  run('infra/cli/audit.ts', ['--settings', NO_SETTINGS, '--date', DATE, ...args], {
    environment: {
      TABLES_CONNECTION_STRING: inject('tablesConnectionString'),
      TABLES_PREFIX: prefix,
      COUNTER_SHARDS: String(shards),
    },
  });

it('npm run audit prints what it compared and exits with 0; --rebuild names each difference and asks first; --yes rebuilds the day', async () => {
  const prefix = ownTablesPrefix();
  const storage = new CountingStorage(prefix);
  const frames = all(9).map((at) => frame(`ridge-${at % 8}`, `f-${at}`, START + BigInt(at) * 60_000_000n));
  await storage.process(2).record(frames);
  const good = await audit(prefix, [], 2);
  expect(good.printed).toMatch(
    new RegExp(`^${DATE}, table ${prefix}analytics2: 9 events, [\\d,]+ numbers compared\\.\n`),
  );
  expect(good).toMatchObject({ code: 0, said: '', printed: expect.stringContaining('Every answer agrees with') });

  const properties = tallyValues({ ...EMPTY_TALLY, events: 3 }, EMPTY_TALLY);
  const partitionKey = shardPartition(DATE, shardOf('ridge-0', 2));
  await storage
    .client(2)
    .updateEntity({ partitionKey, rowKey: 'camera|ridge-0|00', ...properties }, 'Merge', { etag: '*' });
  const asked = await audit(prefix, ['--rebuild'], 2);
  expect(asked).toMatchObject({ code: 2, printed: expect.stringContaining('differences. Nothing was changed.') });
  expect(asked.printed).toContain('ridge-0, day: total_events 3 → 2');
  expect(asked.said).toContain('add --yes. Nothing was changed.');
  const { code, printed } = await audit(prefix, ['--rebuild', '--yes'], 2);
  expect(printed).toContain(`${partitionKey} is open again`);
  expect(printed).toContain('Every answer agrees with the event rows.');
  expect(code).toBe(0);
});

it('--unseal audits a day whose rebuild was stopped, and opens it', async () => {
  const prefix = ownTablesPrefix();
  const counting = new CountingStorage(prefix).process();
  await counting.record([frame('a', 'f')]);
  await sealShard(counting.table, await readSeal(counting.table, SHARD), 'rebuilding');
  expect(await audit(prefix, [])).toMatchObject({
    code: 2,
    printed: expect.stringContaining('A rebuild of this day is running, or was stopped: the service answers 503.'),
  });
  expect(await audit(prefix, ['--unseal'])).toMatchObject({ code: 2, said: expect.stringContaining('add --yes') });
  const opened = await audit(prefix, ['--unseal', '--yes']);
  expect(opened).toMatchObject({ code: 0, printed: expect.stringContaining('opened 1 of 1 shards') });
  expect(await counting.record([frame('a', 'g')])).toEqual(['recorded']);
});

it('the audit exits with 2 if there is no table, and does not create it', async () => {
  const own = ownTablesPrefix();
  const said = `There is no table ${own}analytics in this storage. Are TABLES_PREFIX and COUNTER_SHARDS those of the service?\n`;
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

it('an audit of a day that was written meanwhile exits with 2, and says nothing of its differences; a damaged event row is more urgent', () => {
  const right: AuditReport = {
    day: DATE,
    sealed: undefined,
    isStill: true,
    events: 1,
    compared: 1,
    differences: { count: 0, first: [] },
    unreadable: { count: 0, first: [] },
  };
  const differing = {
    ...right,
    differences: { count: 1, first: [{ name: 'all cameras, day: total_events', answered: 1, counted: 2 }] },
  };
  expect([right, differing, { ...differing, isStill: false }].map(exitCodeOf)).toEqual([0, 1, 2]);
  expect(reportText({ ...differing, isStill: false }, 'analytics')).not.toContain('total_events');
  expect(exitCodeOf({ ...right, isStill: false, unreadable: { count: 1, first: [] } })).toBe(1);
  expect(exitCodeOf({ ...right, sealed: 'rebuilding' })).toBe(2);
});

it('a report has the first lines of a list, and the number of the others', () => {
  const differences = all(30).map((at) => ({ name: `c-${at}, day: total_events`, answered: 1, counted: 2 }));
  const unreadableRows = all(30).map((at) => `${SHARD} event|${at}: is damaged`);
  const report = { day: DATE, sealed: 'closed', isStill: true, events: 1, compared: 9 } as const;
  const lists = { differences: { count: 5_000, first: differences }, unreadable: { count: 40, first: unreadableRows } };
  const text = reportText({ ...report, ...lists }, 'analytics', 20);
  expect(text.match(/total_events 1 → 2/g)).toHaveLength(20);
  expect(text).toContain('and 4,980 more');
  expect(text.match(/is damaged/g)).toHaveLength(20);
  expect(text).toContain('and 20 more');
});
