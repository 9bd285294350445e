import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  cameraListFrom,
  EMPTY_CAMERA_LIST,
  MAX_CAMERAS_PER_SHARD,
  CAMERAS,
  locationOfText,
  TOTAL_ROW_TEXTS,
  withCameras,
} from '../../../src/analytics/rows/camera-list.ts';
import { DecodeError } from '../../../src/analytics/rows/damaged-row.ts';
import { readTexts } from '../../../src/analytics/rows/properties.ts';
import { ids } from '../arbitraries.ts';

const many = (count: number, length: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => String(index).padStart(length, 'x'));

describe('the list of active cameras', () => {
  it('has each camera once, in the order of their first events', () => {
    fc.assert(
      fc.property(fc.array(fc.array(ids, { maxLength: 10 }), { maxLength: 6 }), (batches) => {
        const list = batches.reduce(withCameras, EMPTY_CAMERA_LIST);
        const wanted = [...new Set(batches.flat())];
        expect(list.ids).toEqual(wanted);
        expect([...list.indexes]).toEqual(wanted.map((id, index) => [id, index]));
        expect(cameraListFrom(list.texts)).toEqual(list);
      }),
    );
  });

  it('is only appended to, text by text', () => {
    const before = withCameras(EMPTY_CAMERA_LIST, many(700, 128));
    const after = withCameras(before, many(900, 128));
    expect(after.ids.slice(0, 700)).toEqual(before.ids);
    const full = before.texts.slice(0, -1);
    expect(after.texts.slice(0, full.length)).toEqual(full);
    expect(after.texts[full.length]?.startsWith(before.texts.at(-1) ?? '-')).toBe(true);
  });

  it('is the same object where no new camera is added', () => {
    const list = withCameras(EMPTY_CAMERA_LIST, ['ridge-04', 'ridge-05']);
    expect(withCameras(list, ['ridge-05'])).toBe(list);
    expect(withCameras(list, [])).toBe(list);
  });

  it.each([1, 8, 128])(
    'of the most cameras that a shard takes, with ids of %i to 128 characters, is read back from its rows',
    (length) => {
      const list = withCameras(EMPTY_CAMERA_LIST, many(MAX_CAMERAS_PER_SHARD, length));
      const rows = new Map<number, Record<string, string>>();
      for (const [index, text] of list.texts.entries()) {
        expect(text.length).toBeLessThanOrEqual(32_000);
        const { row, property } = locationOfText(index);
        expect(rows.get(row)?.[property], 'nothing is written twice').toBeUndefined();
        rows.set(row, { ...rows.get(row), [property]: text });
      }
      const read = cameraListFrom(
        [...rows]
          .sort(([left], [right]) => left - right)
          .flatMap(([, properties]) => readTexts(CAMERAS, { ...properties, hours: 5 })),
      );
      expect(read.ids).toEqual(list.ids);
      expect(read.texts).toEqual(list.texts);
    },
  );

  it('starts in the total row and continues in rows of its own', () => {
    expect(locationOfText(0)).toEqual({ row: 0, property: 'cameras' });
    expect(locationOfText(TOTAL_ROW_TEXTS - 1)).toEqual({ row: 0, property: `cameras_${TOTAL_ROW_TEXTS - 1}` });
    expect(locationOfText(TOTAL_ROW_TEXTS)).toEqual({ row: 1, property: 'cameras' });
  });

  it('with a text that is no text is refused', () => {
    expect(() => readTexts(CAMERAS, { cameras: 'ridge-04', cameras_1: 5 })).toThrow(DecodeError);
  });
});
