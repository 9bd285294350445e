import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { DecodeError } from '../../../src/storage/errors.ts';
import {
  MAX_TALLY_CATEGORIES,
  readTallyText,
  tallyProperties,
  tallyPropertyNames,
} from '../../../src/analytics/rows/properties.ts';
import { EMPTY_TALLY, plus, type Tally } from '../../../src/analytics/model/tally.ts';
import { tallies } from '../arbitraries.ts';

const withCategories = (count: number, prefix = 'c'): Tally => ({
  events: 1,
  reviewed: 0,
  annotated: 0,
  categories: new Map(
    Array.from({ length: count }, (_, index) => [
      `${prefix}${index}`,
      { detections: index, reviewed: 0, annotations: 1 },
    ]),
  ),
});

describe('a tally in a row', () => {
  it('is text that a person can read', () => {
    const tally: Tally = {
      events: 600,
      reviewed: 12,
      annotated: 3,
      categories: new Map([['smoke', { detections: 20, reviewed: 3, annotations: 2 }]]),
    };
    expect(tallyProperties('day', tally)).toEqual({
      day: '{"events":600,"reviewed":12,"annotated":3,"categories":{"smoke":[20,3,2]}}',
    });
  });

  it('is read back unchanged, with its categories in their order', () => {
    fc.assert(
      fc.property(tallies, (tally) => {
        const read = readTallyText('day', tallyProperties('day', tally));
        expect(read).toEqual(tally);
        expect([...(read?.categories.keys() ?? [])]).toEqual([...tally.categories.keys()]);
      }),
    );
  });

  it.each([0, 1, 249, 250, 251, 500, 501, MAX_TALLY_CATEGORIES])('of %i categories is read back unchanged', (count) => {
    const tally = withCategories(count);
    const properties = tallyProperties('hour', tally);
    expect(Object.keys(properties)).toHaveLength(Math.max(1, Math.ceil(count / 250)));
    expect(tallyPropertyNames('hour')).toEqual(expect.arrayContaining(Object.keys(properties)));
    const read = readTallyText('hour', { ...properties, rowKey: 'hour|08', hour_x: 'other' });
    expect(read).toEqual(tally);
    expect([...(read?.categories.keys() ?? [])]).toEqual([...tally.categories.keys()]);
  });

  it('keeps the index of each category when more are added', () => {
    const before = withCategories(300);
    const after = plus(before, withCategories(40, 'new'));
    expect([...after.categories.keys()].slice(0, 300)).toEqual([...before.categories.keys()]);
    expect(Object.keys(tallyProperties('day', after))).toEqual(['day', 'day_1']);
  });

  it('is undefined where the row has none', () => {
    expect(readTallyText('day', { day_1: '{}' })).toBeUndefined();
    expect(readTallyText('day', tallyProperties('day', EMPTY_TALLY))).toEqual(EMPTY_TALLY);
  });

  it.each<[string, unknown]>([
    ['no text', 5],
    ['no JSON', '{'],
    ['no object', '[]'],
    ['no categories', '{"events":1,"reviewed":0,"annotated":0}'],
    ['a list of categories', '{"events":1,"reviewed":0,"annotated":0,"categories":[]}'],
    ['no events', '{"reviewed":0,"annotated":0,"categories":{}}'],
    ['a count as text', '{"events":"1","reviewed":0,"annotated":0,"categories":{}}'],
    ['half a count', '{"events":1.5,"reviewed":0,"annotated":0,"categories":{}}'],
    ['two counts of three', '{"events":1,"reviewed":0,"annotated":0,"categories":{"fire":[1,2]}}'],
    ['a category without counts', '{"events":1,"reviewed":0,"annotated":0,"categories":{"fire":1}}'],
  ])('that is damaged is refused as a whole: %s', (_damage, text) => {
    expect(() => readTallyText('day', { day: text })).toThrow(DecodeError);
  });
});
