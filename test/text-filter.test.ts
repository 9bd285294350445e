import { expect, it } from 'vitest';

import { folded, textFilter } from '../src/text-filter.ts';

it.each([
  ['ΔΑΣΟΣ', 'ΔΑΣ'],
  ['δάσος ΝΟΤΟΣ', 'νοτοσ'],
  ['İzmir', 'iz'],
  ['IĞDIR', 'ığdır'],
  ['Weißfluh', 'WEISS'],
  ['STRAẞE', 'straße'],
  ['ꮳꮃꭹ', 'ᏣᎳᎩ'],
  ['Piñon', 'pin\u0303on'],
  ['Ridge-04', 'RIDGE'],
  ['anything', ''],
])('%s contains %s', (text, part) => {
  expect(textFilter(part)(text)).toBe(true);
  expect(textFilter(part.toUpperCase())(text)).toBe(true);
});

it.each([
  ['Ridge-04', 'ridge04'],
  ['Λόφος', 'Δ'],
  ['Piñon', 'piñons'],
])('%s does not contain %s', (text, part) => {
  expect(textFilter(part)(text)).toBe(false);
});

it('capital and small letters of every script are the same, and a fold is folded', () => {
  const different: string[] = [];
  for (let code = 0; code <= 0x10_ff_ff; code += 1) {
    const letter = String.fromCodePoint(code);
    if (letter.toUpperCase() === letter.toLowerCase()) continue;
    const fold = folded(letter);
    if ([letter.toUpperCase(), letter.toLowerCase(), fold].some((other) => folded(other) !== fold))
      different.push(letter);
  }
  expect(different).toEqual([]);
});
