import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { contributionOf, type Facets } from '../../../src/analytics/model/camera-event.ts';
import { contributionFrom, eventRowFrom, eventWrite } from '../../../src/analytics/rows/event-row.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { categories, instants } from '../arbitraries.ts';
import { storedRow } from './stored-row.ts';

const counts = fc
  .uniqueArray(fc.tuple(categories, fc.integer({ min: 0, max: 10_000 })), { selector: ([name]) => name, maxLength: 64 })
  .map((entries): ReadonlyMap<string, number> => new Map(entries));

const facets: fc.Arbitrary<Facets> = fc.record(
  {
    detections: fc.record({ value: counts, time: instants }, { noNullPrototype: true }),
    reviewed: fc.record({ value: fc.boolean(), time: instants }, { noNullPrototype: true }),
    annotations: fc.record({ value: counts, time: instants }, { noNullPrototype: true }),
  },
  { requiredKeys: [], noNullPrototype: true },
);

describe('the row of an event', () => {
  it('is read back as it was written, to the microsecond, and so is what it counts', () => {
    fc.assert(
      fc.property(instants, facets, (ts, known) => {
        const { properties } = eventWrite('key', undefined, { ts, facets: known });
        expect(eventRowFrom(storedRow('key', properties))).toEqual({ ts, facets: known });
        expect(contributionFrom(storedRow('key', properties))).toEqual(contributionOf(known));
      }),
    );
  });

  it('is inserted where it is not stored yet, else replaced whole at the version that was read', () => {
    const ts = instantFrom(0n);
    expect(eventWrite('key', undefined, { ts, facets: {} }).kind).toBe('insert');
    expect(eventWrite('key', 'W/"1"', { ts, facets: {} })).toMatchObject({
      kind: 'replace',
      etag: 'W/"1"',
      rowKey: 'key',
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ['no time', { ts_utc: undefined }],
    ['a time that is none', { ts_utc: 'yesterday' }],
    ['detections without their time', { detections: '{"fire":1}' }],
    ['detections that are no object', { detections: '5', detections_time: '2026-11-21T08:00:00Z' }],
    ['a count that is no number', { detections: '{"fire":"1"}', detections_time: '2026-11-21T08:00:00Z' }],
    ['annotations that are no text', { annotations: 5, annotations_time: '2026-11-21T08:00:00Z' }],
    ['a review without its time', { reviewed: true }],
    ['a review that is text', { reviewed: 'yes', reviewed_time: '2026-11-21T08:00:00Z' }],
    ['detections that are no JSON', { detections: '{', detections_time: '2026-11-21T08:00:00Z' }],
  ])('that is damaged is refused as a whole: %s', (_damage, damage) => {
    const properties = { ts_utc: '2026-11-21T08:00:00.000000Z', ...damage };
    expect(() => eventRowFrom(storedRow('event|0815|ridge-04|f-1', properties))).toThrow(DamagedRow);
  });
});
