import type { TableClient } from '@azure/data-tables';
import { expect, it } from 'vitest';

import { withTypedDoubles } from '../../infra/archive/typed-doubles.ts';
import { inStripe } from '../../src/analytics/rows/stripe-keys.ts';
import { counterTable, ownDirectory, ownStorage, run } from './running.ts';

/** What the storage answers, without what it sets itself. Only here it can be seen whether 1 is a double. */
const answered = async (table: TableClient): Promise<string> => {
  let body = '';
  const pages = table.listEntities({ onResponse: ({ bodyAsText }) => (body = bodyAsText ?? '') }).byPage();
  await pages.next();
  return body.replaceAll(/"odata\.(?:etag|metadata)":"(?:[^"\\]|\\.)*",?|"Timestamp":"[^"]*"/g, '');
};

it('export and import bring every type of property and every key', { timeout: 120_000 }, async () => {
  const source = ownStorage();
  const table = counterTable(source);
  await table.createTable();
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const keys = ['total', 'a', 'ａ', '🔥', "o'brien", '"x":1.0,', 'e\u0301', 'Z', ' '];
  // Rows of stripes, and what is next to them in the order of keys.
  keys.push(...['total', 'camera|a', 'camera|a0'].flatMap((key) => [inStripe(key, 1), inStripe(key, 63)]));
  keys.push('camera|a', 'camera|a0');
  for (const rowKey of keys) {
    await table.createEntity({
      partitionKey: '2026-03-14_00',
      rowKey,
      binary: bytes,
      boolean: true,
      date: { type: 'DateTime', value: '2026-03-14T01:02:03.1234567Z' },
      double_fraction: 0.1,
      double_infinite: { type: 'Double', value: 'Infinity' },
      double_large: { type: 'Double', value: '1e300' },
      double_whole: { type: 'Double', value: '1' },
      empty: '',
      guid: { type: 'Guid', value: '11111111-2222-3333-4444-555555555555' },
      int32: { type: 'Int32', value: '-2147483648' },
      int64: -(2n ** 63n),
      text: ' "a":1.0, \\" \u0007🔥',
    });
  }
  const directory = ownDirectory();
  expect(await run('export', source, ['--date', '2026-03-14', '--out', directory])).toMatchObject({ code: 0 });
  const target = ownStorage();
  expect(await run('import', target, ['--in', directory])).toMatchObject({ code: 0 });

  const expected = await answered(table);
  expect(expected.split('"PartitionKey"')).toHaveLength(keys.length + 1);
  expect(await answered(counterTable(target))).toBe(expected);
});

it.each([
  ['{"a":1.0}', '{"a@odata.type":"Edm.Double","a":"1.0"}'],
  ['{"a":-1.5e-7,"b":2}', '{"a@odata.type":"Edm.Double","a":"-1.5e-7","b":2}'],
  ['{"a":1e300}', '{"a@odata.type":"Edm.Double","a":"1e300"}'],
  ['{"a":1,"b":"2.0","c":true}', '{"a":1,"b":"2.0","c":true}'],
  [String.raw`{"a":"\"b\":1.0,","c\"":1.0}`, String.raw`{"a":"\"b\":1.0,","c\"@odata.type":"Edm.Double","c\"":"1.0"}`],
])('the doubles of %s get their type', (body, typed) => {
  expect(withTypedDoubles(body)).toBe(typed);
});
