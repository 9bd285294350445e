import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { JsonItems } from '../../infra/send/json-items.ts';
import { MAX_EVENT_BYTES } from '../../infra/send/limits.ts';

interface Found {
  readonly line: number;
  readonly index: number | undefined;
  readonly text: string;
  readonly fault: string | undefined;
}

/** The items of an input that comes in chunks which end at these bytes. */
const split = (input: Buffer, cuts: readonly number[] = []): readonly Found[] => {
  const items = new JsonItems();
  const ends = [...new Set([...cuts.filter((cut) => cut < input.length), input.length])].sort((a, b) => a - b);
  const chunks = ends.map((end, at) => input.subarray(ends[at - 1] ?? 0, end));
  const found = chunks.flatMap((chunk) => items.push(chunk)).concat(items.end());
  return found.map(({ line, index, bytes, fault }) => ({ line, index, text: bytes.toString('utf8').trim(), fault }));
};

const splitText = (text: string): readonly Found[] => split(Buffer.from(text));
const texts = (text: string): readonly string[] => splitText(text).map((item) => item.text);
const good = (line: number, text: string, index?: number): Found => ({ line, index, text, fault: undefined });

describe('the items of a file', () => {
  it('are its lines, where it is NDJSON', () => {
    expect(splitText('{"a":1}\n{"b":{"c":[2]}}\r\n\n{"d":"}\\"{"}')).toEqual([
      good(1, '{"a":1}'),
      good(2, '{"b":{"c":[2]}}'),
      good(4, '{"d":"}\\"{"}'),
    ]);
  });

  it('are the elements of its array, on one line or on many', () => {
    expect(splitText('[{"a":1},{"b":[1,2]}, 7,"x,]"]')).toEqual([
      good(1, '{"a":1}', 0),
      good(1, '{"b":[1,2]}', 1),
      good(1, '7', 2),
      good(1, '"x,]"', 3),
    ]);
    expect(splitText('[\n  {\n    "a": {\n      "b": 1\n    }\n  },\n  {}\n]\n')).toEqual([
      good(2, '{\n    "a": {\n      "b": 1\n    }\n  }', 0),
      good(7, '{}', 1),
    ]);
  });

  it('are the elements of every array, where each line is a batch', () => {
    expect(splitText('[{"a":1}]\n[]\n[{"b":2},{"c":3}]')).toEqual([
      good(1, '{"a":1}', 0),
      good(3, '{"b":2}', 0),
      good(3, '{"c":3}', 1),
    ]);
  });

  it('are one, where it is one object over many lines', () => {
    expect(texts('{\n  "a": {\n  },\n  "b": [\n    {\n    }\n  ]\n}\n')).toHaveLength(1);
  });

  it('are none, where there is nothing', () => {
    expect(splitText('')).toEqual([]);
    expect(splitText(' \r\n\n')).toEqual([]);
    expect(splitText('[]')).toEqual([]);
  });
});

describe('a file with damage', () => {
  it('loses the damaged line and no other', () => {
    const items = splitText('{"a":1}\n{"b":{"c":2}\n{"d":3}\nnot JSON\n{"e":"x\n{"f":4}\n');
    expect(items.map(({ line, fault }) => [line, fault])).toEqual([
      [1, undefined],
      [2, 'ends before it is complete'],
      [3, undefined],
      [4, undefined],
      [5, 'has a line break inside a string'],
      [6, undefined],
    ]);
  });

  it('loses the damaged element of a printed array and no other', () => {
    const items = splitText('[\n  {"a": {"b": 1},\n  {"c": 2},\n  {\n    "d": {}\n  }\n]');
    expect(items.map(({ line, index, fault }) => [line, index, fault])).toEqual([
      [2, 0, 'ends before it is complete'],
      [3, 1, undefined],
      [4, 2, undefined],
    ]);
  });

  it('that is cut off says so', () => {
    expect(splitText('{"a":1}\n{"b":')[1]).toMatchObject({ line: 2, fault: 'ends before it is complete' });
    expect(splitText('[{"a":1},{"b"').map(({ fault }) => fault)).toEqual([
      undefined,
      'ends before it is complete',
      'the array that begins on line 1 is not closed: is the file cut off?',
    ]);
    expect(splitText('[{"a":1}\n')[1]?.fault).toContain('not closed');
  });

  it('keeps only the beginning of an event that is too large, and goes on behind it', () => {
    const large = `{"a":"${'x'.repeat(MAX_EVENT_BYTES)}"}`;
    const [first, second] = split(Buffer.from(`${large}\n{"b":1}`), [1_000, 3_000_000]);
    expect(first).toMatchObject({ text: large.slice(0, 1_024), fault: expect.stringContaining('is larger than') });
    expect(second).toEqual(good(2, '{"b":1}'));
  });
});

describe('however a file is cut into chunks', () => {
  const damaged = fc
    .array(fc.constantFrom(...'{}[]",:\\ \n\r\ta1'.split(''), '{"a":1}', '[{"b":2}]', '\n{', '\n  {', 'ü'), {
      maxLength: 60,
    })
    .map((pieces) => pieces.join(''));

  it('the same items come out, damaged or not', () => {
    fc.assert(
      fc.property(damaged, fc.array(fc.nat(120), { maxLength: 12 }), (text, cuts) => {
        const input = Buffer.from(text);
        const whole = split(input);
        expect(split(input, cuts)).toEqual(whole);
        expect(split(input, [...input.keys()])).toEqual(whole);
      }),
      { numRuns: 2_000 },
    );
  });

  it('every value comes out, in order, whatever is in it and however it is printed', () => {
    const layouts = fc.constantFrom('lines', 'array', 'printed array', 'printed objects', 'arrays on lines');
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 8 }),
        layouts,
        fc.array(fc.nat(2_000), { maxLength: 8 }),
        (values, layout, cuts) => {
          const input = Buffer.from(printed(values, layout));
          expect(split(input, cuts).map(({ text }) => text && JSON.stringify(JSON.parse(text)))).toEqual(
            values.map((value) => JSON.stringify(value)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

const printed = (values: readonly unknown[], layout: string): string => {
  switch (layout) {
    case 'lines':
      return values.map((value) => JSON.stringify(value)).join('\n');
    case 'array':
      return JSON.stringify(values);
    case 'printed array':
      return JSON.stringify(values, undefined, 2);
    case 'printed objects':
      return values.map((value) => JSON.stringify(value, undefined, 2)).join('\n');
    default:
      return values.map((value) => JSON.stringify([value])).join('\r\n');
  }
};
