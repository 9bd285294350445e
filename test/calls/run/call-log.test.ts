import { expect, it, vi } from 'vitest';

import { logSilence } from '../../../src/calls/run/call-log.ts';
import { openCallsOf, termsOf } from '../../../src/calls/state/step.ts';
import { calling, newCase, POLICY, RINGING, START } from '../new-case.ts';

it('a silent fire names how many of its phones other notifications keep busy', () => {
  const own = calling(newCase(START), 0, RINGING);
  const other = calling(newCase(START - 1), 0, RINGING);
  const error = vi.fn();
  const open = [own, other].flatMap((known) => openCallsOf(known, termsOf(known, POLICY)));
  logSilence(own, open, { info: vi.fn(), warn: vi.fn(), error });
  expect(error.mock.calls).toMatchObject([['urgent notification silent', { busy_with_our_calls: 1 }]]);
});
