import { InvocationContext } from '@azure/functions';
import { expect, it, vi } from 'vitest';

import { appLog, inInvocation, type Log } from '../src/log.ts';

const FIELDS = { recorded: 12, camera: 'a\nb"c', fast: true, left_out: undefined };
const SAID = '"recorded":12,"camera":"a\\nb\\"c","fast":true';
const TRACE = '0af7651916cd43dd8448eb211c80319c';

it.each([
  ['info', 'information'],
  ['warn', 'warning'],
  ['error', 'error'],
] as const)(
  'a log line is one JSON object on one line, at its level, with the ids of its request, also after its end: %s',
  async (level, told) => {
    const lines: unknown[] = [];
    let log: Log = appLog;
    const logHandler = (...line: unknown[]): number => lines.push(line);
    const run = async (traceParent: string, work: (inside: Log) => void): Promise<void> => {
      const context = new InvocationContext({ invocationId: 'i-1', logHandler, traceContext: { traceParent } });
      await inInvocation(context, async (inside) => {
        log = inside;
        work(inside);
      });
    };
    await run(`00-${TRACE}-b7ad6b7169203331-01`, (inside) => inside[level]('events recorded', FIELDS));
    await run(`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, (inside) => inside[level]('events recorded'));
    expect(lines).toEqual([
      [told, `{"event":"events recorded",${SAID},"invocation_id":"i-1","trace_id":"${TRACE}"}`],
      [told, '{"event":"events recorded","invocation_id":"i-1"}'],
    ]);
    const written = vi.spyOn(console, level).mockImplementation(() => undefined);
    appLog[level]('debug build');
    appLog[level]('debug build', FIELDS);
    // After the end of an invocation the host ignores its lines.
    log[level]('call placed', FIELDS);
    expect(written.mock.calls).toEqual([
      ['{"event":"debug build"}'],
      [`{"event":"debug build",${SAID}}`],
      [`{"event":"call placed",${SAID},"invocation_id":"i-1"}`],
    ]);
    expect(lines).toHaveLength(2);
  },
);
