import { FORMAT } from '../../src/analytics/rows/format.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import { TableClient } from '@azure/data-tables';
import { inject, expect, it } from 'vitest';

import { freePort } from '../../infra/local/free-port.ts';
import { Table } from '../../src/storage/table.ts';
import { health } from '../../src/http/health.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { ask, problemOf } from './asking.ts';

it('health is 200 when storage answers, whatever the query', async () => {
  const handler = health(new CountingStorage().process().table).handler;
  for (const path of ['/api/health', '/api/health?probe=1&probe=2&=']) {
    expect(await ask(handler, path)).toMatchObject({ status: 200, body: { status: 'ok' } });
  }
});

it('health is 503 when it does not, and says no more than when to come again', async () => {
  const nowhere = inject('tablesConnectionString').replace(
    /:\d+\/devstoreaccount1/,
    `:${await freePort()}/devstoreaccount1`,
  );
  const client = TableClient.fromConnectionString(nowhere, 'analytics', {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
  const answer = await ask(health(new Table(new AzureTable(() => client), { format: FORMAT })).handler, '/api/health');
  expect(problemOf(answer)).toEqual({
    status: 503,
    detail: 'The service cannot work now.',
    fields: [],
    indices: [],
    details: '',
  });
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
});

it('storage is asked once a second, however many ask', async () => {
  let now = 0;
  let probes = 0;
  const table = { answers: async () => Promise.resolve((probes += 1) !== 2) };
  const { handler } = health(table, () => now);
  const statuses = async () =>
    Promise.all(Array.from({ length: 20 }, async () => (await ask(handler, '/api/health')).status));

  expect(new Set(await statuses())).toEqual(new Set([200]));
  now = 999;
  expect(new Set(await statuses())).toEqual(new Set([200]));
  expect(probes).toBe(1);
  now = 1_000;
  expect(new Set(await statuses())).toEqual(new Set([503]));
  expect(probes).toBe(2);
});
