import { InvocationContext } from '@azure/functions';
import { expect, it, vi } from 'vitest';

import { appLog, invocationLog } from '../src/log.ts';

const FIELDS = { recorded: 12, camera: 'a\nb"c', fast: true, left_out: undefined };
const SAID = '"recorded":12,"camera":"a\\nb\\"c","fast":true';

it.each([
  ['info', 'information'],
  ['warn', 'warning'],
  ['error', 'error'],
] as const)('a log line is one JSON object on one line, at its level: %s', (level, told) => {
  const lines: unknown[] = [];
  const context = new InvocationContext({ logHandler: (...line) => lines.push(line) });
  invocationLog(context)[level]('events recorded', FIELDS);
  expect(lines).toEqual([[told, `{"event":"events recorded",${SAID},"invocation_id":"${context.invocationId}"}`]]);
  const written = vi.spyOn(console, level).mockImplementation(() => undefined);
  appLog[level]('debug build');
  appLog[level]('debug build', FIELDS);
  expect(written.mock.calls).toEqual([['{"event":"debug build"}'], [`{"event":"debug build",${SAID}}`]]);
});
