import { InvocationContext, type LogLevel } from '@azure/functions';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { appLog, invocationLog } from '../src/log.ts';

const FIELDS = { recorded: 12, camera: 'a\nb"c', fast: true, left_out: undefined };

describe('a log line', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each(['info', 'warn', 'error'] as const)(
    'of an invocation is one JSON object on one line, at its level: %s',
    (level) => {
      const lines: [LogLevel, ...unknown[]][] = [];
      const context = new InvocationContext({ logHandler: (at, ...said) => lines.push([at, ...said]) });
      invocationLog(context)[level]('events recorded', FIELDS);
      const levels: Record<typeof level, LogLevel> = { info: 'information', warn: 'warning', error: 'error' };
      expect(lines).toEqual([
        [
          levels[level],
          `{"event":"events recorded","recorded":12,"camera":"a\\nb\\"c","fast":true,"invocation_id":"${context.invocationId}"}`,
        ],
      ]);
    },
  );

  it.each(['info', 'warn', 'error'] as const)('outside any invocation goes to the console: %s', (level) => {
    const written = vi.spyOn(console, level).mockImplementation(() => undefined);
    appLog[level]('debug build');
    appLog[level]('debug build', FIELDS);
    expect(written.mock.calls).toEqual([
      ['{"event":"debug build"}'],
      ['{"event":"debug build","recorded":12,"camera":"a\\nb\\"c","fast":true}'],
    ]);
  });
});
