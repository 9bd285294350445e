import { describe, expect, it } from 'vitest';

import { sharedStage } from '../harness/phone-stage.ts';
import { until } from '../harness/until.ts';
import { readText } from './markdown.ts';

const [, section = ''] = readText('infra/azure/phone.md').split('\n## First call\n');

/** The lines that the page lists, in its order. */
const LINES = [...section.matchAll(/^\d\. ([^.,]*)/gm)].flatMap(([, names = '']) =>
  [...names.matchAll(/`(.+?)`/g)].map(([, name]) => name),
);

describe.each([
  ['acs', LINES],
  ['twilio', LINES.filter((name) => name !== 'message playing')],
] as const)('a first call through %s', (provider, lines) => {
  const pace = { ringMs: 50, eventMs: 50, speakMs: 100 };
  const stageOf = sharedStage({ provider, network: { pace } });

  it('logs the lines that the page lists, in their order', async () => {
    const { alert, output } = stageOf();
    await alert('Custom', ['+12065550100']);
    const logged = () =>
      [...output().matchAll(/"event":"(.+?)"/g)].flatMap(([, name]) => (LINES.includes(name) ? [name] : []));
    await until(() => logged().includes('call disconnected'), 'the end of the call is logged');
    expect(logged()).toEqual(lines);
  });
});
