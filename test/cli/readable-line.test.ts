import { stripVTControlCharacters } from 'node:util';

import { expect, it } from 'vitest';

import { jsonLine, readableLine } from '../../infra/cli/start/readable-line.ts';

const NOW = new Date(2026, 10, 21, 8, 15, 2);
const LINE = '{"event":"events recorded","recorded":5,"reason":"at rest","invocation_id":"i","trace_id":"t"}';

it.each([
  [LINE, false, '08:15:02   events recorded: recorded 5, reason at rest', LINE],
  ['[phone] +1206 rings', false, '08:15:02 ☎ [phone] +1206 rings', '{"event":"phone","text":"+1206 rings"}'],
  ['Sweep failed: Error', true, '08:15:02 ! Sweep failed: Error', '{"event":"Sweep failed: Error"}'],
])('%s is read as words, and stays JSON with --json', (line, isWrong, text, json) => {
  const readable = readableLine(line, isWrong, NOW);
  expect(stripVTControlCharacters(readable)).toBe(text);
  expect(jsonLine(line)).toBe(json);
});
