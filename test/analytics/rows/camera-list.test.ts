import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MAX_CAMERAS_PER_SHARD } from '../../../src/analytics/rows/bitset.ts';
import {
  cameraListFrom,
  changedListRows,
  EMPTY_CAMERA_LIST,
  listTextsFrom,
  withCameras,
} from '../../../src/analytics/rows/total-row.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { ids } from '../arbitraries.ts';
import { storedRow } from './stored-row.ts';

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
      for (const text of list.texts) expect(text.length).toBeLessThanOrEqual(32_000);
      const rows = changedListRows(EMPTY_CAMERA_LIST, list);
      const read = cameraListFrom(
        [...rows].flatMap(([number, properties]) =>
          listTextsFrom(storedRow(`cameras|000${number}`, { ...properties, hours: 5 })),
        ),
      );
      expect(read.ids).toEqual(list.ids);
      expect(read.texts).toEqual(list.texts);
    },
  );

  it('writes the texts that changed, in their rows', () => {
    const before = withCameras(EMPTY_CAMERA_LIST, many(4_000, 128));
    const changed = changedListRows(before, withCameras(before, ['one-more']));
    expect(Array.from(changed, ([number, properties]) => [number, Object.keys(properties)])).toEqual([
      [2, ['cameras_2']],
    ]);
    expect(changedListRows(before, before)).toEqual(new Map());
  });

  it('with a text that is no text is refused', () => {
    expect(() => listTextsFrom(storedRow('cameras|0001', { cameras: 'ridge-04', cameras_1: 5 }))).toThrow(DamagedRow);
  });
});
